// Package otlptest is a collector for tests: it receives traces by OTLP over HTTP, and keeps them.
package otlptest

import (
	"compress/gzip"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/certtest"
)

// Span is a span that arrived. Numbers among the attributes are int64.
type Span struct {
	Trace, ID, Parent, Name string
	Kind                    string
	Start, End              time.Time
	Attrs, Resource         map[string]any
	Failed                  bool
}

// Collector receives traces at URL. It is safe for concurrent use.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
	// answer, if not nil, may reply in place of the collector; it returns false if it did not.
	answer func(http.ResponseWriter) bool
}

// New starts a collector, which ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{}
	c.serve(t, (*httptest.Server).Start)
	return c
}

// NewEncrypted starts a collector that demands a certificate of its clients. It returns the
// variables of OpenTelemetry with which clients reach it.
func NewEncrypted(t testing.TB) (c *Collector, variables []string) {
	dir, authority := t.TempDir(), certtest.New(t)
	authority.Write(t, dir)
	authority.Issue(t, filepath.Join(dir, "collector"), "127.0.0.1")
	authority.Issue(t, filepath.Join(dir, "client"), "petstore")
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "collector.pem"), filepath.Join(dir, "collector.key"))
	assert.NoError(t, err)
	c = &Collector{}
	c.serve(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{
			ClientAuth:   tls.RequireAnyClientCert,
			Certificates: []tls.Certificate{own},
			MinVersion:   tls.VersionTLS12,
		}
		s.StartTLS()
	})
	const prefix = "OTEL_EXPORTER_OTLP_"
	return c, []string{
		prefix + "ENDPOINT=" + c.URL,
		prefix + "CERTIFICATE=" + filepath.Join(dir, "ca.pem"),
		prefix + "CLIENT_CERTIFICATE=" + filepath.Join(
			dir,
			"client.pem",
		),
		prefix + "CLIENT_KEY=" + filepath.Join(dir, "client.key"),
	}
}

func (c *Collector) serve(t testing.TB, start func(*httptest.Server)) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.take)
	s := httptest.NewUnstartedServer(mux)
	start(s)
	t.Cleanup(s.Close)
	c.URL = s.URL
}

// Answer makes f answer requests. A request for which f returns false is answered as usual. f gets
// the number of the call, from 1.
func (c *Collector) Answer(f func(call int, w http.ResponseWriter) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := 0
	c.answer = func(w http.ResponseWriter) bool {
		calls++
		return f(calls, w)
	}
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	if c.answer != nil && c.answer(w) {
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &req)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "not a request for traces", http.StatusBadRequest)
		return
	}
	c.add(&req)
}

func (c *Collector) add(req *collector.ExportTraceServiceRequest) {
	for _, of := range req.GetResourceSpans() {
		resource := attrs(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Trace:  hex.EncodeToString(s.GetTraceId()),
					ID:     hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name:   s.GetName(),
					Kind:   s.GetKind().String(),
					Start: time.Unix(
						0,
						int64(s.GetStartTimeUnixNano()),
					),
					End:      time.Unix(0, int64(s.GetEndTimeUnixNano())),
					Attrs:    attrs(s.GetAttributes()),
					Resource: resource,
					Failed:   s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR,
				})
			}
		}
	}
}

func attrs(all []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range all {
		if v, ok := a.GetValue().GetValue().(*common.AnyValue_IntValue); ok {
			m[a.GetKey()] = v.IntValue
		} else {
			m[a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	return m
}

// Spans returns the spans that have arrived, in order.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Headers returns the headers of all requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Of returns the spans of a trace.
func (c *Collector) Of(trace string) []Span {
	return slices.DeleteFunc(c.Spans(), func(s Span) bool { return s.Trace != trace })
}
