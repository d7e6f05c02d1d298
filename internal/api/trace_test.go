package api

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/otlptest"
	"petstore.example/internal/tracing"
)

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	sampledBy   = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// traced returns a fixture whose requests are traced with that sampler, and what stops the tracer
// and returns the spans of requests.
func traced(t *testing.T, sampler string) (w *fixture, stop func() []otlptest.Span) {
	t.Helper()
	collector := otlptest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_TRACES_SAMPLER", sampler)
	cfg, mistakes := tracing.ReadConfig(os.Getenv)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	tracer := tracing.Start(cfg, zerolog.Nop(), func(string, int) {})
	t.Cleanup(func() { tracer.Stop(t.Context()) })
	return newFixture(t, func(c *Config) { c.Tracer = tracer }), func() []otlptest.Span {
		tracer.Stop(t.Context())
		return collector.Spans()
	}
}

// TestTraceOfRequests: each request is a span with the conventions' attributes, and nothing of what
// a client may choose freely.
func TestTraceOfRequests(t *testing.T) {
	w, stop := traced(t, "always_on")
	w.do(w.request("GET", "/v1/pets?limit=7", "", "X-Request-Id", "r-1", "Traceparent", sampledBy))
	w.do(w.request("GET", "/v1/pets/471147114711", "", "X-Request-Id", "r-2"))
	w.do(w.request("SECRET", "/secret", "", "Authorization", "Bearer "+w.key+"x", "X-Request-Id", "r-3"))
	w.pets.before = func() { panic("out of pets") }
	w.do(w.request("GET", "/v1/pets", "", "X-Request-Id", "r-4"))
	requests := map[any]otlptest.Span{}
	phases := map[string][]string{}
	for _, s := range stop() {
		if s.Kind == "SPAN_KIND_SERVER" {
			requests[s.Attrs["petstore.request_id"]] = s
		}
		phases[s.Trace] = append(phases[s.Trace], s.Name)
		if text := strings.ToLower(cmp.Diff(otlptest.Span{}, s)); strings.Contains(text, "secret") ||
			strings.Contains(text, "471147114711") {
			t.Errorf("a span has what the client sent: %s", text)
		}
	}
	acme := map[string]any{
		"petstore.tenant":    "acme",
		"petstore.tenant_id": int64(1),
		"petstore.key":       "key_acme",
		"petstore.plan":      "free",
	}
	with := func(of map[string]any, more ...any) map[string]any {
		all := map[string]any{"http.request.method": "GET"}
		for k, v := range of {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i].(string)] = more[i+1]
		}
		return all
	}
	want := map[any]map[string]any{
		"r-1": with(acme, "http.route", "/v1/pets", "http.response.status_code", int64(200)),
		"r-2": with(
			acme,
			"http.route",
			"/v1/pets/{petId}",
			"http.response.status_code",
			int64(404),
			"petstore.code",
			"pet_not_found",
		),
		"r-3": with(
			map[string]any{"petstore.plan": "none"},
			"http.request.method",
			"_OTHER",
			"http.route",
			"unmatched",
			"http.response.status_code",
			int64(404),
			"petstore.code",
			"route_not_found",
		),
		"r-4": with(
			acme,
			"http.route",
			"/v1/pets",
			"http.response.status_code",
			int64(500),
			"petstore.code",
			"internal_error",
			"error.type",
			"internal_error",
		),
	}
	for id, attrs := range want {
		attrs["petstore.request_id"] = id
		assert.DeepEqual(t, requests[id].Attrs, attrs, id)
		if requests[id].Failed != (id == "r-4") {
			t.Errorf("%v: failed %v", id, requests[id].Failed)
		}
	}
	if r := requests["r-1"]; r.Trace != clientTrace || r.Parent != clientSpan || r.Name != "GET /v1/pets" {
		t.Errorf("the client's trace is not continued: %+v", r)
	}
	slices.Sort(phases[clientTrace])
	assert.DeepEqual(t, phases[clientTrace], []string{"GET /v1/pets", "admit", "identify"})
}

// TestTraceIDIsLogged: that of the client's traceparent, whether or not anything is exported, and
// that of a trace that is.
func TestTraceIDIsLogged(t *testing.T) {
	off := newFixture(t)
	off.do(off.request("GET", "/v1/pets", "", "Traceparent", sampledBy))
	e := event(t, off)
	assert.Equal(t, e["trace_id"], clientTrace, "with the client's", e)
	off = newFixture(t)
	off.do(off.request("GET", "/v1/pets", "", "Traceparent", off.key))
	if e := event(t, off); e["trace_id"] != nil {
		t.Errorf("with none: %v", e)
	}
	on, stop := traced(t, "always_on")
	on.do(on.request("GET", "/v1/pets", ""))
	spans := stop()
	if e := event(t, on); len(spans) == 0 || e["trace_id"] != spans[0].Trace {
		t.Errorf("exported: %v, spans %v", e, spans)
	}
	if ids := exemplars(t, on.registry); len(ids) != 1 || ids[0] != spans[0].Trace {
		t.Errorf("exemplars %v of %s", ids, spans[0].Trace)
	}
}

// TestTraceparentOfStrangers: without a valid key it does not have a request exported, and leaves
// no exemplar.
func TestTraceparentOfStrangers(t *testing.T) {
	w, stop := traced(t, "parentbased_always_off")
	w.do(w.request("GET", "/v1/pets", "", "Authorization", "", "Traceparent", sampledBy))
	w.sendUnknown(t, "/v1/pets")
	r := w.request("GET", "/v1/pets", "", "Traceparent", sampledBy)
	w.directory.fail(keys.StatusError(keys.Revoked))
	w.do(r)
	w.directory.fail(nil)
	ids := exemplars(t, w.registry)
	assert.Equal(t, len(ids), 0, "exemplars", ids)
	w.do(w.request("GET", "/v1/pets", "", "Traceparent", sampledBy))
	if spans := stop(); len(spans) != 3 || spans[2].Attrs["http.response.status_code"] != int64(http.StatusOK) {
		t.Errorf("%d spans: %+v", len(spans), spans)
	}
}

// TestTraceparentOfUncounted: a valid key has a request exported only if it was counted, which its
// quota bounds, also if it then failed on our side.
func TestTraceparentOfUncounted(t *testing.T) {
	w, stop := traced(t, "parentbased_always_off")
	send := func(target string, want int) {
		t.Helper()
		rec := w.do(w.request("GET", target, "", "Traceparent", sampledBy))
		assert.Equal(t, rec.Code, want, target, rec.Body)
	}
	send("/v1/usage", http.StatusOK)
	w.setPlan(t, "free", plans.Quota{PerMinute: 1, PerDay: 10})
	send("/v1/pets", http.StatusOK)
	send("/v1/pets", http.StatusTooManyRequests)
	w.setPlan(t, "free", plans.Quota{PerMinute: 10, PerDay: 10})
	w.pets.before = func() { panic("out of pets") }
	send("/v1/pets", http.StatusInternalServerError)
	ban(t, w, nil)
	send("/v1/pets", http.StatusTooManyRequests)
	var exported []any
	for _, s := range stop() {
		if s.Kind == "SPAN_KIND_SERVER" {
			exported = append(exported, s.Attrs["http.response.status_code"])
		}
	}
	assert.DeepEqual(t, exported, []any{int64(http.StatusOK), int64(http.StatusInternalServerError)})
}
