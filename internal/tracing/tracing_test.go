package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/otlptest"
	"petstore.example/internal/test/wait"
)

const (
	traceA    = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanA     = "00f067aa0ba902b7"
	sampled   = "00-" + traceA + "-" + spanA + "-01"
	unsampled = "00-" + traceA + "-" + spanA + "-00"
)

// counts are the numbers of spans by result.
type counts struct {
	mu    sync.Mutex
	spans map[string]int
}

func (c *counts) add(result string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans[result] += n
}

func (c *counts) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.spans)
}

// started sets variables, which the SDK reads from the environment, and starts a Tracer that ends
// with the test.
func started(t *testing.T, log io.Writer, env ...string) (*Tracer, *counts) {
	t.Helper()
	for i := 0; i < len(env); i += 2 {
		t.Setenv(env[i], env[i+1])
	}
	c, mistakes := ReadConfig(os.Getenv)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	spans := &counts{spans: map[string]int{}}
	tracer := Start(
		c,
		zerolog.New(log),
		spans.add,
		attribute.String("service.version", "1.2.3"),
		attribute.String("host.name", "h"),
	)
	t.Cleanup(func() { tracer.Stop(t.Context()) })
	return tracer, spans
}

func header(name, value string) http.Header { return http.Header{name: {value}} }

// TestTraceOfARequest: steps are the request's, and what is called for a call is the call's.
// Variables change the resource.
func TestTraceOfARequest(t *testing.T) {
	c := otlptest.New(t)
	tracer, spans := started(
		t,
		io.Discard,
		endpoint,
		c.URL+"/",
		"OTEL_SERVICE_NAME",
		"shop",
		"OTEL_RESOURCE_ATTRIBUTES",
		"zone=a%20b,service.version=2",
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
		"gzip",
		"OTEL_EXPORTER_OTLP_HEADERS",
		"authorization=Bearer%20s3cret,x-scope=7",
	)
	came := time.Now().Add(-time.Second)
	ctx, span := tracer.Request(t.Context(), tracer.ParentOf(header("Traceparent", sampled)), "/v1/pets", came)
	tracer.Step(ctx, "identify", came, came.Add(time.Millisecond))
	inner, end := Query(ctx, "insert into pets (name) values ('secret')")
	_, endInner := Query(inner, "select name from pets where id = $1 and kind = 'secret'")
	endInner(context.DeadlineExceeded)
	end(stateError("23505"))
	Fail(span, "unavailable")
	span.End()
	tracer.Stop(t.Context())

	type shape struct {
		Parent, Name, Kind string
		Attrs              map[string]any
		Failed             bool
	}
	all, names := c.Spans(), map[string]string{spanA: "client"}
	for _, s := range all {
		names[s.ID] = s.Name
		if s.Trace != traceA || s.End.Before(s.Start) || s.End.After(time.Now()) {
			t.Errorf("span %+v", s)
		}
		if of := s.Name == "/v1/pets" || s.Name == "identify"; of != s.Start.Equal(time.Unix(0, came.UnixNano())) {
			t.Errorf("%s began at %v, the request at %v", s.Name, s.Start, came)
		}
	}
	var got []shape
	for _, s := range all {
		got = append(got, shape{names[s.Parent], s.Name, s.Kind, s.Attrs, s.Failed})
	}
	sql := func(summary, failed string) map[string]any {
		return map[string]any{"db.system.name": "postgresql", "db.query.summary": summary, "error.type": failed}
	}
	want := []shape{
		{"/v1/pets", "identify", "SPAN_KIND_INTERNAL", map[string]any{}, false},
		{"insert pets", "select pets", "SPAN_KIND_CLIENT", sql("select pets", "timeout"), true},
		{"/v1/pets", "insert pets", "SPAN_KIND_CLIENT", sql("insert pets", "23505"), true},
		{"client", "/v1/pets", "SPAN_KIND_SERVER", map[string]any{"error.type": "unavailable"}, true},
	}
	assert.DeepEqual(t, got, want)
	resource := all[0].Resource
	for name, want := range map[string]any{"service.name": "shop", "service.version": "2", "zone": "a b",
		"host.name": "h"} {
		assert.Equal(t, resource[name], want, name)
	}
	if h := c.Headers()[0]; h.Get("Authorization") != "Bearer s3cret" || h.Get("X-Scope") != "7" {
		t.Errorf("headers %v", h)
	}
	assert.Equal(t, spans.text(), "map[exported:4]")
}

type stateError string

func (s stateError) Error() string    { return "duplicate key value: secret" }
func (s stateError) SQLState() string { return string(s) }

// TestWhoDecides: the variables of the sampler and of the propagators mean what OpenTelemetry says.
// A request without a parent never has the ID that a client chose.
func TestWhoDecides(t *testing.T) {
	c := otlptest.New(t)
	for _, test := range []struct {
		sampler, propagators, name, value string
		// exported says whether the request is exported with that parent, and without it.
		exported, without bool
	}{
		{"parentbased_always_on", "", "Traceparent", sampled, true, true},
		{"parentbased_always_on", "", "Traceparent", unsampled, false, true},
		{"parentbased_always_off", "", "Traceparent", sampled, true, false},
		{"parentbased_always_off", "", "B3", traceA + "-" + spanA + "-1", false, false},
		{"parentbased_always_off", "b3,tracecontext", "B3", traceA + "-" + spanA + "-1", true, false},
		{"parentbased_always_off", "none", "Traceparent", sampled, false, false},
		{"always_off", "", "Traceparent", sampled, false, false},
	} {
		tracer, _ := started(
			t,
			io.Discard,
			endpoint,
			c.URL,
			"OTEL_TRACES_SAMPLER",
			test.sampler,
			"OTEL_PROPAGATORS",
			test.propagators,
		)
		parent := tracer.ParentOf(http.Header{test.name: {test.value}, "Tracestate": {"a=secret"}})
		_, with := tracer.Request(t.Context(), parent, "x", time.Now())
		_, orphan := tracer.Request(t.Context(), trace.SpanContext{}, "x", time.Now())
		assert.Equal(t, with.IsRecording(), test.exported, test, "exported")
		assert.Equal(t, orphan.IsRecording(), test.without, test, "without a parent")
		if test.exported && with.SpanContext().TraceID().String() != traceA ||
			orphan.SpanContext().TraceID().String() == traceA {
			t.Errorf(
				"%+v: the trace is %s, without a parent %s",
				test,
				with.SpanContext().TraceID(),
				orphan.SpanContext().TraceID(),
			)
		}
		assert.Equal(t, with.SpanContext().TraceState().String(), "", "the client's tracestate is kept")
	}
}

// TestShare: the share is of requests without a parent, and one that is not exported costs no
// allocation.
func TestShare(t *testing.T) {
	tracer, _ := started(
		t,
		io.Discard,
		endpoint,
		"http://127.0.0.1:1",
		"OTEL_TRACES_SAMPLER",
		"parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG",
		"0.25",
		"OTEL_BSP_MAX_QUEUE_SIZE",
		"100000",
	)
	exported := 0
	for range 10_000 {
		if _, span := tracer.Request(t.Context(), trace.SpanContext{}, "x", time.Now()); span.IsRecording() {
			exported++
		}
	}
	if exported < 2000 || exported > 3000 {
		t.Errorf("%d of 10,000 are exported, want a quarter", exported)
	}
	none, _ := started(t, io.Discard, "OTEL_TRACES_SAMPLER_ARG", "0")
	ctx, at := t.Context(), time.Now()
	n := testing.AllocsPerRun(100, func() { none.Request(ctx, trace.SpanContext{}, "x", at) })
	assert.True(t, n <= 0, n, "allocations")
}

// TestOff: without an endpoint nothing is traced, nothing need be checked for nil, and nothing is
// allocated.
func TestOff(t *testing.T) {
	tracer, _ := started(t, io.Discard)
	if tracer != nil {
		t.Fatal("something is traced")
	}
	h, ctx := header("Authorization", "x"), context.WithValue(t.Context(), someKey{}, 1)
	if n := testing.AllocsPerRun(100, func() {
		_, end := Query(ctx, "select 1")
		if end != nil || !tracer.Now().IsZero() || tracer.ParentOf(h).IsValid() {
			t.Error("something is traced")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if id := tracer.ParentOf(header("Traceparent", sampled)).TraceID().String(); id != traceA {
		t.Errorf("the client's trace is %s, for the log", id)
	}
}

type someKey struct{}

// TestCollectorInTrouble: what a collector does not take is counted as failed. The log line has its
// reply, without the headers' values.
func TestCollectorInTrouble(t *testing.T) {
	partly, err := proto.Marshal(
		&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 2}},
	)
	assert.NoError(t, err)
	elsewhere := otlptest.New(t)
	for name, test := range map[string]struct {
		answer    func(http.ResponseWriter)
		want, log string
	}{
		"refuses": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "no such key: hunter2"+strings.Repeat("x", 1000))
		}, "map[failed:1]", "401 Unauthorized"},
		"redirects": {func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL+"/v1/traces")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "map[failed:1]", "redirects"},
		"takes some": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(partly)
		}, "map[failed:1]", "2 spans rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			c := otlptest.New(t)
			c.Answer(func(_ int, w http.ResponseWriter) bool {
				test.answer(w)
				return true
			})
			var log strings.Builder
			tracer, spans := started(t, &log, endpoint, c.URL, "OTEL_EXPORTER_OTLP_HEADERS", "api-key=hunter2")
			_, span := tracer.Request(t.Context(), trace.SpanContext{}, "x", time.Now())
			span.End()
			tracer.Stop(t.Context())
			if text := spans.text(); text != test.want || len(c.Headers()) != 1 || len(elsewhere.Headers()) != 0 {
				t.Errorf(
					"%s, want %s; %d calls, %d elsewhere",
					text,
					test.want,
					len(c.Headers()),
					len(elsewhere.Headers()),
				)
			}
			if text := log.String(); !strings.Contains(text, test.log) || strings.Contains(text, "hunter2") ||
				len(text) > 1000 {
				t.Errorf("log %s, want %q", text, test.log)
			}
		})
	}
}

// TestNothingBlocks: while the collector hangs, spans are dropped and counted, each once, and a
// stop ends the call.
func TestNothingBlocks(t *testing.T) {
	c := otlptest.New(t)
	hangs := make(chan struct{})
	c.Answer(func(int, http.ResponseWriter) bool {
		<-hangs
		return true
	})
	t.Cleanup(func() { close(hangs) })
	const waiting, more = 100, 50
	tracer, spans := started(t, io.Discard, endpoint, c.URL, "OTEL_BSP_MAX_QUEUE_SIZE", fmt.Sprint(waiting))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range (waiting + more) / 4 {
				_, span := tracer.Request(context.Background(), trace.SpanContext{}, "x", time.Now())
				span.End()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, spans.text(), fmt.Sprintf("map[dropped:%d]", (waiting+more)/4*4-waiting))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Stop(ctx)
	wait.Until(t, "the end of the call", func() bool { return strings.Contains(spans.text(), "failed") }, spans.text)
}

// TestSDKIsLogged: what the SDK finds wrong with its variables is in the log, without values.
func TestSDKIsLogged(t *testing.T) {
	var log strings.Builder
	LogTo(zerolog.New(&log))
	t.Cleanup(func() { LogTo(zerolog.Nop()) })
	started(
		t,
		io.Discard,
		endpoint,
		"http://127.0.0.1:1",
		"OTEL_EXPORTER_OTLP_CERTIFICATE",
		"/nowhere/ca.pem",
		"OTEL_TRACES_SAMPLER",
		"xray",
		"OTEL_PROPAGATORS",
		"pigeon",
		"OTEL_EXPORTER_OTLP_TIMEOUT",
		"hunter2",
	)
	for _, want := range []string{"/nowhere/ca.pem", "unsupported sampler: xray", "unknown propagator",
		"parse duration"} {
		assert.Contains(t, log.String(), want, "no")
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"select id, name from pets where tenant_id = $1":      "select pets",
		"-- update nothing\nselect 'insert into x' from pets": "select pets",
		"select * from lookup_caller($1, $2)":                 "select lookup_caller",
		"select $1 < past_until()":                            "select past_until",
		"select take_term($1)":                                "select take_term",
		"with t as materialized (select 1), p as (select * from pets) select " +
			"* from p": "select pets",
		"with t as (select 1) insert into orders (id) select id from t on " +
			"conflict do update set x = 1": "insert orders",
		"select id from pets where id = $1 for update": "select pets",
		"select id from pets for no key update":        "select pets",
		"update bans set ends_at = now()":              "update bans",
		"delete from idempotency where x < $1":         "delete idempotency",
		"notify \"x\";":                                "notify",
		"transaction":                                  "transaction",
		"":                                             "",
	} {
		assert.Equal(t, summarize(statement), want, statement)
	}
}

func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"timeout": context.DeadlineExceeded, "canceled": context.Canceled, "_OTHER": errors.New("secret"),
		"57014": stateError("57014"),
	} {
		assert.Equal(t, errorType(err), want, err)
	}
}
