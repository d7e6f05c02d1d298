package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/otlptest"
)

// TestTracing: a server with Redis and Postgres exports its requests as part of their clients'
// traces, also those of the fast path, and logs the trace: in plain text by W3C's header, and
// encrypted in both directions by B3's. On SIGTERM it exports what is left.
func TestTracing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	for _, fastPath := range []string{"on", "off"} {
		t.Run("fast path "+fastPath, func(t *testing.T) {
			t.Parallel()
			collector, variables := otlptest.NewEncrypted(t)
			variables = append(variables, "OTEL_PROPAGATORS=b3")
			header, parent := "B3", "%s-00f067aa0ba902b7-1"
			if fastPath == "on" {
				collector = otlptest.New(t)
				variables = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}
				header, parent = "Traceparent", "00-%s-00f067aa0ba902b7-01"
			}
			d := d.in(t)
			s := d.serve(
				append(variables, "PETSTORE_HTTP_FAST_PATH="+fastPath, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hunter2",
					"OTEL_TRACES_SAMPLER=parentbased_always_off")...)
			tenant := d.tenant(plans.Pro, nil, 1)
			n := 0
			send := func(method, path, body, token string) (trace string) {
				t.Helper()
				n++
				trace = fmt.Sprintf("%s%031x", map[string]string{"on": "a", "off": "b"}[fastPath], n)
				a := d.patient.do(
					context.Background(),
					method,
					s.URL+path,
					token,
					body,
					header,
					fmt.Sprintf(parent, trace),
				)
				if a.err != nil {
					t.Fatal(a)
				}
				return trace
			}
			key := tenant.keys[0].token
			// The first request of a connection is net/http's in any case, and that of a key and of
			// a tenant needs queries.
			first := send(http.MethodGet, "/pets", "", key)
			created := send(http.MethodPost, "/pets", `{"name":"Rex","categoryId":7}`, key)
			fast := send(http.MethodGet, "/pets?limit=3", "", key)
			stranger := send(http.MethodGet, "/pets", "", "")
			a := d.patient.get(s, key, "/pets")
			assert.Equal(t, a.status, 200, "without a traceparent", a)
			if text := openMetrics(
				t,
				s,
			); !strings.Contains(text, `# {trace_id="`+fast+`"}`) &&
				!strings.Contains(text, `# {trace_id="`+first+`"}`) {
				t.Errorf("no exemplar of %s or %s", fast, first)
			}
			assert.Equal(t, s.Stop(syscall.SIGTERM), 0, "exit code")
			tree := func(trace string) (lines []string) {
				spans := collector.Of(trace)
				for _, of := range spans {
					parent := "the client"
					for _, p := range spans {
						if p.ID == of.Parent {
							parent = p.Name
						}
					}
					lines = append(lines, parent+" > "+of.Name)
				}
				slices.Sort(lines)
				return lines
			}
			want := []string{
				"GET /v1/pets > admit",
				"GET /v1/pets > identify",
				"GET /v1/pets > select pets",
				"the client > GET /v1/pets",
			}
			assert.DeepEqual(t, tree(fast), want, "a list")
			// The flag decides once the request is admitted, so the calls before are not in the
			// trace.
			for trace, contains := range map[string][]string{
				first:   {"GET /v1/pets > identify", "the client > GET /v1/pets"},
				created: {"POST /v1/pets > insert pets"},
			} {
				got := strings.Join(tree(trace), "\n")
				for _, line := range contains {
					assert.Contains(t, got, line, "no")
				}
			}
			all := collector.Spans()
			for _, span := range all {
				if span.Trace != first && span.Trace != created && span.Trace != fast ||
					span.Resource["service.name"] != "petstore" ||
					span.End.Before(span.Start) ||
					time.Since(span.Start) > 5*time.Minute {
					t.Errorf("span %+v", span)
				}
			}
			logged := map[string]bool{}
			for line := range strings.Lines(s.Stderr()) {
				var e struct {
					TraceID string `json:"trace_id"`
				}
				_ = json.Unmarshal([]byte(line), &e)
				logged[e.TraceID] = true
			}
			for _, trace := range []string{first, created, fast, stranger} {
				assert.True(t, logged[trace], "trace", trace, "is not in the log")
			}
			if strings.Contains(s.Stderr(), "hunter2") || collector.Headers()[0].Get("Api-Key") != "hunter2" {
				t.Error("the header is in the log, or did not arrive")
			}
		})
	}
}

// openMetrics returns the server's metrics in the format that has exemplars.
func openMetrics(t *testing.T, s *server) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Admin+"/metrics", nil)
	assert.NoError(t, err)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	res, err := http.DefaultClient.Do(req)
	assert.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	assert.NoError(t, err)
	return string(text)
}
