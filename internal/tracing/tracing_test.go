package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/otlptest"
	"petstore.example/internal/test/wait"
)

const (
	trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanA = "00f067aa0ba902b7"
)

func TestTraceparent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"00-" + trace + "-" + spanA + "-01":                   trace + " sampled",
		"00-" + trace + "-" + spanA + "-00":                   trace,
		"00-" + trace + "-" + spanA + "-03":                   trace + " sampled",
		"cc-" + trace + "-" + spanA + "-01":                   trace + " sampled",
		"cc-" + trace + "-" + spanA + "-01-more":              trace + " sampled",
		"cc-" + trace + "-" + spanA + "-01more":               "",
		"00-" + trace + "-" + spanA + "-01-more":              "",
		"ff-" + trace + "-" + spanA + "-01":                   "",
		"0g-" + trace + "-" + spanA + "-01":                   "",
		"00-" + strings.ToUpper(trace) + "-" + spanA + "-01":  "",
		"00-" + strings.Repeat("0", 32) + "-" + spanA + "-01": "",
		"00-" + trace + "-0000000000000000-01":                "",
		"00-" + trace + "-" + spanA + "-1":                    "",
		"00-" + trace + "-" + spanA + "-zz":                   "",
		"00_" + trace + "-" + spanA + "-01":                   "",
		"":                                                    "",
	} {
		p := ParentOf(http.Header{"Traceparent": {text}})
		got := ""
		if p.Valid() {
			got = p.Trace.String()
		}
		if p.Sampled {
			got += " sampled"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if p := ParentOf(http.Header{"Traceparent": {"00-" + trace + "-" + spanA + "-01", "00-" + trace + "-" + spanA + "-01"}}); p.Valid() {
		t.Errorf("two headers: %v", p)
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-" + trace + "-" + spanA + "-01")
	f.Fuzz(func(t *testing.T, text string) {
		if p := parseTraceparent(text); p.Valid() && (!strings.Contains(text, p.Trace.String()) || p.Span == SpanID{}) {
			t.Errorf("%q: %v", text, p)
		}
	})
}

// TestWhoDecides: a parent decides over requests that are counted, if the configuration lets it. Over others it decides nothing.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	none, sampled, unsampled := Parent{}, Parent{Trace: newTraceID(), Sampled: true}, Parent{Trace: newTraceID()}
	for name, c := range map[string]struct {
		sampler string
		// exported says of each parent whether the request is exported if it is counted, and if not.
		exported map[Parent][2]bool
	}{
		"parents and all":     {"parentbased_always_on", map[Parent][2]bool{none: {true, true}, sampled: {true, true}, unsampled: {false, true}}},
		"parents and no more": {"parentbased_always_off", map[Parent][2]bool{none: {false, false}, sampled: {true, false}, unsampled: {false, false}}},
		"all":                 {"always_on", map[Parent][2]bool{none: {true, true}, sampled: {true, true}, unsampled: {true, true}}},
		"none":                {"always_off", map[Parent][2]bool{none: {false, false}, sampled: {false, false}, unsampled: {false, false}}},
	} {
		tracer := &Tracer{sampler: configured(t, "http://collector", samplerVar, c.sampler).sampler, queue: make(chan *Trace, 1)}
		for parent, want := range c.exported {
			for i, counted := range []bool{true, false} {
				r := tracer.Begin(parent, time.Now())
				if r == nil {
					r = tracer.Follow(parent, time.Now(), "identify")
				}
				if counted {
					r.Count()
				}
				if exported := r.End("x", "") != ""; exported != want[i] {
					t.Errorf("%s, parent %+v, counted %v: exported %v", name, parent, counted, exported)
				}
			}
		}
	}
	s, exported := configured(t, "http://collector", samplerVar, "traceidratio", samplerArg, "0.25").sampler, 0
	for range 10_000 {
		if s.draw() {
			exported++
		}
	}
	if exported < 2000 || exported > 3000 {
		t.Errorf("%d of 10,000 are exported, want a quarter", exported)
	}
}

// configured reads a configuration from names and values.
func configured(t *testing.T, endpoint string, env ...string) Config {
	t.Helper()
	set := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
	for i := 0; i < len(env); i += 2 {
		set[env[i]] = env[i+1]
	}
	c, mistakes := ReadConfig(func(name string) string { return set[name] })
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return c
}

func started(t *testing.T, c Config) *Tracer {
	t.Helper()
	tracer := Start(c, zerolog.New(zerolog.NewTestWriter(t)), String("service.version", "1.2.3"))
	tracer.sender.pause = time.Millisecond
	t.Cleanup(func() { tracer.Stop(t.Context()) })
	return tracer
}

// TestTraceOfARequest: phases are the request's, what is called during a phase is the phase's, and what is called for a call is the call's.
func TestTraceOfARequest(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	tracer := started(t, configured(t, c.URL+"/", service, "shop", attributes, "zone=a%20b,service.version=2", otlpTraces+"COMPRESSION", "gzip",
		otlpAll+"HEADERS", "authorization=Bearer%20s3cret,x-scope=7"))
	began := time.Now().Add(-time.Second)
	r := tracer.Begin(parseTraceparent("00-"+trace+"-"+spanA+"-01"), began)
	ctx := NewContext(t.Context(), r)
	r.Enter("identify")
	_, end := Query(ctx, "select name from pets where id = $1 and kind = 'secret'")
	end(nil)
	r.Enter("admit")
	r.Leave()
	inner, end := Query(ctx, "insert into pets (name) values ($1)")
	_, endInner := Script(inner, "take")
	endInner(context.DeadlineExceeded)
	end(stateError("23505"))
	if id := r.End("GET /v1/pets", "unavailable", Int("http.response.status_code", 503)); id != trace {
		t.Errorf("the trace is %q", id)
	}
	_, late := Query(ctx, "select 1")
	if late != nil {
		t.Error("a span that begins after the end")
	}
	tracer.Stop(t.Context())

	type shape struct {
		Parent, Name, Kind string
		Attrs              map[string]any
		Failed             bool
	}
	spans, names := c.Spans(), map[string]string{spanA: "client"}
	for _, s := range spans {
		names[s.ID] = s.Name
		if s.Trace != trace || s.End.Before(s.Start) || s.End.After(time.Now()) {
			t.Errorf("span %+v", s)
		}
	}
	var got []shape
	for _, s := range spans {
		got = append(got, shape{names[s.Parent], s.Name, s.Kind, s.Attrs, s.Failed})
	}
	sql := func(summary string) map[string]any {
		return map[string]any{"db.system.name": "postgresql", "db.query.summary": summary}
	}
	inserted := sql("insert pets")
	inserted["error.type"] = "23505"
	none := map[string]any{}
	want := []shape{
		{"client", "GET /v1/pets", "SPAN_KIND_SERVER", map[string]any{"http.response.status_code": int64(503), "error.type": "unavailable"}, true},
		{"GET /v1/pets", "identify", "SPAN_KIND_INTERNAL", none, false},
		{"identify", "select pets", "SPAN_KIND_CLIENT", sql("select pets"), false},
		{"GET /v1/pets", "admit", "SPAN_KIND_INTERNAL", none, false},
		{"GET /v1/pets", "insert pets", "SPAN_KIND_CLIENT", inserted, true},
		{"insert pets", "EVALSHA take", "SPAN_KIND_CLIENT", map[string]any{
			"db.system.name": "redis", "db.operation.name": "EVALSHA", "db.stored_procedure.name": "take", "error.type": "timeout",
		}, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	resource := map[string]any{"service.name": "shop", "service.version": "2", "zone": "a b"}
	if diff := cmp.Diff(resource, spans[0].Resource); diff != "" {
		t.Errorf("resource (-want +got)\n%s", diff)
	}
	if !spans[0].Start.Equal(time.Unix(0, began.UnixNano())) {
		t.Errorf("it began at %v, want %v", spans[0].Start, began)
	}
	h := c.Headers()[0]
	if h.Get("Authorization") != "Bearer s3cret" || h.Get("X-Scope") != "7" {
		t.Errorf("headers %v", h)
	}
	if diff := cmp.Diff(Counts{Exported: 6}, tracer.Counts()); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
}

type stateError string

func (s stateError) Error() string    { return "duplicate key value: secret" }
func (s stateError) SQLState() string { return string(s) }

// TestFollow: a parent that may decide begins a trace of what the share did not choose, with the phase that has run. What it did is dropped
// unless the request is counted.
func TestFollow(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	tracer := started(t, configured(t, c.URL, samplerVar, "parentbased_always_off"))
	parent, at := parseTraceparent("00-"+trace+"-"+spanA+"-01"), time.Now().Add(-time.Second)
	unsampled := parent
	unsampled.Sampled = false
	if tracer.Begin(parent, at) != nil || tracer.Follow(Parent{}, at, "identify") != nil || tracer.Follow(unsampled, at, "identify") != nil {
		t.Error("a trace that nobody asked for")
	}
	if id := tracer.Follow(parent, at, "identify").End("GET /v1/pets", ""); id != "" {
		t.Errorf("exported as %s", id)
	}
	r := tracer.Follow(parent, at, "identify")
	r.Enter("admit")
	r.Count()
	r.End("GET /v1/pets", "")
	tracer.Stop(t.Context())
	var names []string
	for _, s := range c.Spans() {
		if names = append(names, s.Name); s.Start.Equal(time.Unix(0, at.UnixNano())) != (s.Name != "admit") {
			t.Errorf("%s began at %v", s.Name, s.Start)
		}
	}
	if diff := cmp.Diff([]string{"GET /v1/pets", "identify", "admit"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	off := started(t, configured(t, c.URL, samplerVar, "always_off"))
	if off.Follow(parent, at, "identify") != nil {
		t.Error("a parent decides that may not")
	}
}

// TestOff: without an endpoint nothing is traced, and nothing need be checked for nil.
func TestOff(t *testing.T) {
	t.Parallel()
	tracer := Start(configured(t, ""), zerolog.Nop())
	r := tracer.Begin(Parent{}, time.Now())
	r.Enter("identify")
	r.Leave()
	if r.End("x", "") != "" || tracer.Counts() != (Counts{}) {
		t.Error("something is traced")
	}
	tracer.Stop(t.Context())
	if _, end := Query(t.Context(), "select 1"); end != nil {
		t.Error("a span without a trace")
	}
}

// TestCollectorInTrouble: a batch is sent again where that helps, and counted as failed where it does not.
func TestCollectorInTrouble(t *testing.T) {
	t.Parallel()
	partly, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 2}})
	if err != nil {
		t.Fatal(err)
	}
	status := func(code, calls int) func(int, http.ResponseWriter) bool {
		return func(call int, w http.ResponseWriter) bool {
			if call <= calls {
				w.WriteHeader(code)
			}
			return call <= calls
		}
	}
	for name, test := range map[string]struct {
		answer func(int, http.ResponseWriter) bool
		calls  int
		want   Counts
	}{
		"busy, then well": {status(503, sendTries-1), sendTries, Counts{Exported: 3}},
		"busy":            {status(429, 99), sendTries, Counts{Failed: 3}},
		"refuses":         {status(401, 99), 1, Counts{Failed: 3}},
		"redirects":       {status(307, 99), 1, Counts{Failed: 3}},
		"takes some": {func(_ int, w http.ResponseWriter) bool {
			_, _ = w.Write(partly)
			return true
		}, 1, Counts{Exported: 1, Failed: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := otlptest.New(t)
			c.Answer(test.answer)
			tracer := started(t, configured(t, c.URL))
			r := tracer.Begin(Parent{}, time.Now())
			r.Enter("identify")
			r.Enter("admit")
			r.End("GET /v1/pets", "")
			wait.Until(t, fmt.Sprintf("%+v", test.want), func() bool { return tracer.Counts() == test.want }, tracer.Counts)
			if n := len(c.Headers()); n != test.calls {
				t.Errorf("%d calls, want %d", n, test.calls)
			}
		})
	}
}

// TestNothingBlocks: while the collector hangs, traces are dropped and counted, and a stop takes no longer than it may.
func TestNothingBlocks(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	hangs := make(chan struct{})
	c.Answer(func(int, http.ResponseWriter) bool {
		<-hangs
		return true
	})
	t.Cleanup(func() { close(hangs) })
	var log strings.Builder
	tracer := Start(configured(t, c.URL), zerolog.New(&log))
	const traces = queueLength + 4*batchSpans
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range traces / 4 {
				r := tracer.Begin(Parent{}, time.Now())
				_, end := Query(NewContext(context.Background(), r), "select 1")
				end(nil)
				r.End("GET /v1/pets", "")
			}
		})
	}
	wg.Wait()
	if n := tracer.Counts().Dropped; n == 0 || n > 2*(traces-queueLength) {
		t.Errorf("%d spans are dropped of %d", n, 2*traces)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	tracer.Stop(ctx)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it stopped after %v", took)
	}
	if got := tracer.Counts(); got.Exported != 0 {
		t.Errorf("counts %+v", got)
	}
}

// TestTracesAreBounded: a request of many calls keeps some of them, also those of several goroutines, and says how many more there were.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	tracer := started(t, configured(t, c.URL))
	r := tracer.Begin(Parent{}, time.Now())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range maxSpans {
				if _, end := Query(NewContext(context.Background(), r), "select 1"); end != nil {
					end(nil)
				}
			}
		})
	}
	wg.Wait()
	r.End("GET /v1/pets", "")
	tracer.Stop(t.Context())
	spans := c.Spans()
	if len(spans) != maxSpans || spans[0].Attrs["petstore.dropped_spans"] != int64(1+3*maxSpans) {
		t.Errorf("%d spans, the first %+v", len(spans), spans[0])
	}
}

// TestCollectorAway: one line when the collector does not answer, none of which shows its address, and one when it does again.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	go func() {
		tracer := Start(configured(t, "http://127.0.0.1:1"), zerolog.New(in))
		tracer.sender.pause = time.Millisecond
		tracer.Begin(Parent{}, time.Now()).End("GET /v1/pets", "")
		tracer.Stop(context.Background())
		_ = in.Close()
	}()
	log, err := io.ReadAll(out)
	if n := strings.Count(string(log), "traces can't be exported"); err != nil || n != 1 || strings.Contains(string(log), "/v1/traces") {
		t.Errorf("%v: %s", err, log)
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"select id, name from pets where tenant_id = $1":                                                "select pets",
		"-- update nothing\nselect 'insert into x' from pets":                                           "select pets",
		"select * from lookup_caller($1, $2)":                                                           "select lookup_caller",
		"select take_term($1)":                                                                          "select take_term",
		"with t as materialized (select 1), p as (select * from pets) select * from p":                  "select pets",
		"with t as (select 1) insert into orders (id) select id from t on conflict do update set x = 1": "insert orders",
		"select id from pets where id = $1 for update":                                                  "select pets",
		"select id from pets for no key update":                                                         "select pets",
		"update bans set ends_at = now()":                                                               "update bans",
		"delete from idempotency where x < $1":                                                          "delete idempotency",
		"notify \"x\";":                                                                                 "notify",
		"":                                                                                              "",
	} {
		if got := summarize(statement); got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
}

func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"timeout": context.DeadlineExceeded, "canceled": context.Canceled, "_OTHER": errors.New("secret"), "57014": stateError("57014"),
	} {
		if got := errorType(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// BenchmarkOff is what a request costs that is not traced.
func BenchmarkOff(b *testing.B) {
	var tracer *Tracer
	for b.Loop() {
		r := tracer.Begin(Parent{}, time.Time{})
		r.Enter("identify")
		r.Enter("admit")
		r.Leave()
	}
}

// BenchmarkParent is what the header costs.
func BenchmarkParent(b *testing.B) {
	for _, with := range []bool{false, true} {
		h := http.Header{"Authorization": {"x"}, "Accept": {"*/*"}, "User-Agent": {"wrk"}}
		if with {
			h["Traceparent"] = []string{"00-" + trace + "-" + spanA + "-01"}
		}
		b.Run(strconv.FormatBool(with), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParentOf(h)
			}
		})
	}
}
