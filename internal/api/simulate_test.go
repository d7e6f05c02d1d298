package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// newDrill returns an API where acme's key is a test key. Its responses are not compared with the
// document, which does not name every code for every operation.
func newDrill(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	w := newFixture(struct{ testing.TB }{t}, change...)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Environment = keys.Test })
	return w
}

func (w *fixture) simulate(method, target, what string, headers ...string) *httptest.ResponseRecorder {
	return w.do(
		w.request(
			method,
			target,
			"",
			append([]string{gate.SimulateHeader, what, "X-Request-Id", "r-1"}, headers...)...),
	)
}

// TestSimulatedAnswersAreTheRealOnes compares whole responses.
func TestSimulatedAnswersAreTheRealOnes(t *testing.T) {
	t.Parallel()
	quota := func(q plans.Quota) func(*fixture) {
		return func(w *fixture) { w.setPlan(t, plans.Free, q) }
	}
	for code, test := range map[string]struct {
		// both prepares both APIs; real only the one whose response is real.
		both, real     func(*fixture)
		method, target string
		headers        []string
		simulated      string
	}{
		"missing_api_key": {headers: []string{"Authorization", ""}},
		"invalid_api_key": {
			headers: []string{"Authorization", "Bearer pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"},
		},
		"route_not_found":    {target: "/v1/nowhere", simulated: "/v1/nowhere"},
		"method_not_allowed": {method: "DELETE"},
		"rate_limit_exceeded": {
			both: quota(plans.Quota{PerMinute: 1, PerDay: 10}),
			real: func(w *fixture) { w.do(w.request("GET", "/v1/store/orders", "")) },
		},
		"daily_quota_exceeded": {
			both: quota(plans.Quota{PerMinute: 10, PerDay: 1}),
			real: func(w *fixture) { w.do(w.request("GET", "/v1/store/orders", "")) },
		},
		"monthly_quota_exceeded": {
			both: quota(plans.Quota{PerMinute: 10, PerDay: 1, Month: plans.Month{Kind: plans.SomeMonth, Included: 1}}),
			real: func(w *fixture) { w.do(w.request("GET", "/v1/store/orders", "")) },
		},
		"monthly_quota_exceeded after overage": {
			both: quota(plans.Quota{PerMinute: 10, PerDay: 10, Month: plans.Month{Kind: plans.SomeMonth,
				Included: 1, Overage: plans.Overage{Kind: plans.OverageNumber, Value: 1}}}),
			real: func(w *fixture) {
				w.do(w.request("GET", "/v1/store/orders", ""))
				w.do(w.request("GET", "/v1/store/orders", ""))
			},
		},
		"key_banned": {real: func(w *fixture) {
			w.directory.change(t, w.key, func(c *keys.Caller) {
				c.Ban = &keys.Ban{Reason: keys.AutomaticReason, StartsAt: at, EndsAt: at.Add(15 * time.Minute)}
			})
		}},
		"unavailable":    {real: func(w *fixture) { w.pets.err = keys.ErrUnavailable }},
		"internal_error": {real: func(w *fixture) { w.pets.err = fmt.Errorf("broken") }},
		"endpoint_removed": {
			both: func(w *fixture) { w.setClock(time.Unix(getPetRemoval.end, 0)) }, target: "/v1/pets/1",
			simulated: "/v1/pets/1",
		},
		"endpoint_removed of an operation that stays": {
			both: func(w *fixture) { w.setClock(time.Unix(getPetRemoval.end, 0)) }, target: "/v1/pets/1",
		},
		"uri_too_long": {target: "/v1/pets?x=" + strings.Repeat("x", maxURI)},
	} {
		code, _, _ = strings.Cut(code, " ")
		answers := make([]http.Header, 2)
		bodies := make([]string, 2)
		for i := range answers {
			w := newDrill(t, withSupport)
			if test.both != nil {
				test.both(w)
				w.directory.change(t, w.key, func(c *keys.Caller) { c.Environment = keys.Test })
			}
			var rec *httptest.ResponseRecorder
			if i == 0 {
				if test.real != nil {
					test.real(w)
				}
				rec = w.do(
					w.request(
						cmp.Or(test.method, "GET"),
						cmp.Or(test.target, "/v1/pets?limit=7"),
						"",
						append(test.headers, "X-Request-Id", "r-1")...),
				)
			} else {
				rec = w.simulate("GET", cmp.Or(test.simulated, "/v1/pets?limit=7"), code)
			}
			bodies[i] = fmt.Sprint(rec.Code, " ", rec.Body)
			answers[i] = rec.Result().Header
			delete(answers[i], "RateLimit") // A real request was counted, at least in one window.
			if rec.Code != 429 {
				delete(answers[i], "X-RateLimit-Remaining")
			}
		}
		assert.Contains(t, bodies[1], `"`+code+`"`, code, "simulated")
		if diff := gocmp.Diff(bodies[0], bodies[1]) + gocmp.Diff(answers[0], answers[1]); diff != "" {
			t.Errorf("%s (-real +simulated):\n%s", code, diff)
		}
	}
}

// TestEveryCodeCanBeSimulated, and is counted nowhere.
func TestEveryCodeCanBeSimulated(t *testing.T) {
	t.Parallel()
	w := newDrill(t)
	before := scrape(t, w)
	for _, c := range problem.Codes {
		for _, r := range []*http.Request{
			w.request("GET", "/v1/pets", "", gate.SimulateHeader, c.Name),
			w.request("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, gate.SimulateHeader, c.Name),
		} {
			rec := w.do(r)
			checkAnswer(t, r, rec)
			if got := checkError(t, r, rec); rec.Code != c.Status || got != c.Name {
				t.Errorf("%s %s: %d %s", r.Method, c.Name, rec.Code, rec.Body)
			}
		}
	}
	if n := strings.Count(
		w.logs.String(),
		`"simulated":true`,
	); n != 2*len(problem.Codes) ||
		strings.Contains(w.logs.String(), `"level":"error"`) {
		t.Errorf(
			"%d lines of %d say that they were simulated, or one is an error:\n%s",
			n,
			2*len(problem.Codes),
			w.logs.String(),
		)
	}
	if w.meter.admitted+w.meter.refused+w.meter.refunded+len(w.strikes.refused)+len(
		w.failed.all,
	)+len(w.addresses.used)+len(
		w.pets.pets[1],
	) > 0 {
		t.Errorf(
			"counted: %+v, strikes %v, failed requests %v, addresses %v, animals %v",
			w.meter,
			w.strikes.refused,
			w.failed.all,
			w.addresses.used,
			w.pets.pets[1],
		)
	}
	if diff := gocmp.Diff(before, scrape(t, w)); diff != "" {
		t.Errorf("metrics (-before +after):\n%s", diff)
	}
	rec := w.do(w.request("GET", "/v1/pets", ""))
	assert.Equal(t, rec.Code, 200, "then the first real request")
	assert.Equal(t, header(rec, "X-RateLimit-Remaining"), "59", "remain after it")
}

// scrape returns the counters of requests and errors.
func scrape(t *testing.T, w *fixture) []string {
	t.Helper()
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	var lines []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "petstore_http_") {
			lines = append(lines, f.String())
		}
	}
	return lines
}

// TestRealRefusalsComeFirst: a simulation is no way around a ban or a limit, nor a way to learn
// more than the document.
func TestRealRefusalsComeFirst(t *testing.T) {
	t.Parallel()
	w := newDrill(t)
	if rec := w.simulate(
		"GET",
		"/v1/pets",
		"internal_error",
		"Authorization",
		"",
	); !strings.Contains(
		rec.Body.String(),
		"missing_api_key",
	) {
		t.Errorf("without a key: %s", rec.Body)
	}
	w.setPlan(t, plans.Free, plans.Quota{PerMinute: 1, PerDay: 10})
	w.do(w.request("GET", "/v1/pets", ""))
	if rec := w.simulate(
		"GET",
		"/v1/pets",
		"internal_error",
	); !strings.Contains(
		rec.Body.String(),
		"rate_limit_exceeded",
	) {
		t.Errorf("over the limit: %s", rec.Body)
	}
	if w.meter.refused != 1 || len(w.strikes.refused) != 1 || len(w.failed.all) != 2 {
		t.Errorf(
			"a real refusal is not counted: %d refused, %d strikes, %d stored",
			w.meter.refused,
			len(w.strikes.refused),
			len(w.failed.all),
		)
	}
	begun := make(chan struct{}, 1)
	for _, what := range []string{"delay=30s", "internal_error;delay=30s"} {
		r := w.request("GET", "/v1/pets", "", gate.SimulateHeader, what).WithContext(waits{t.Context(), begun})
		if rec := w.do(r); !strings.Contains(rec.Body.String(), "rate_limit_exceeded") || len(begun) > 0 {
			t.Errorf("%s over the limit: %s, %d waits", what, rec.Body, len(begun))
		}
	}
	assert.Equal(t, w.meter.refused, 3, "refusals are counted")
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Ban = &keys.Ban{Reason: "test", EndsAt: at.Add(time.Hour)} })
	rec := w.simulate("GET", "/v1/pets", "internal_error;delay=30s")
	assert.True(t, strings.Contains(rec.Body.String(), "key_banned"), "banned", rec.Body)
}

// TestSimulatedWhileUndecided: while nobody knows the limits, no window is shown as used up, and
// nobody waits.
func TestSimulatedWhileUndecided(t *testing.T) {
	t.Parallel()
	w := newDrill(t, func(c *Config) { c.Limiter = storeless{c.Limiter} })
	for what, want := range map[string]string{
		"rate_limit_exceeded": "unavailable", "daily_quota_exceeded;delay=30s": "unavailable",
		"delay=30s": "unavailable", "internal_error": "internal_error",
	} {
		begun := make(chan struct{}, 1)
		r := w.request("GET", "/v1/pets", "", gate.SimulateHeader, what).WithContext(waits{t.Context(), begun})
		rec := w.do(r)
		if !strings.Contains(rec.Body.String(), `"`+want+`"`) || header(rec, "X-RateLimit-Remaining") != "60" ||
			len(begun) > 0 {
			t.Errorf(
				"%s: %d %s, %d waits, %s remain",
				what,
				rec.Code,
				rec.Body,
				len(begun),
				header(rec, "X-RateLimit-Remaining"),
			)
		}
	}
}

// TestSimulationInvalid: what can't be simulated is a 400 that says what can, and counts as any
// other.
func TestSimulationInvalid(t *testing.T) {
	t.Parallel()
	w := newDrill(t)
	wrong := []string{
		"",
		"teapot",
		"500",
		"rate_limit_exceeded,unavailable",
		"unavailable;internal_error",
		"unavailable;",
		"delay",
		"delay=",
		"delay=0s",
		"delay=31s",
		"delay=-1s",
		"delay=1m",
		"delay=1",
		"delay=1s1s",
		"delay=1s;delay=1s",
		"delay=0.5",
		"delay=1e1s",
		"delay=99999999999s",
		"UNAVAILABLE",
		"unavailable;delay=60s",
	}
	for _, what := range wrong {
		r := w.request("GET", "/v1/pets", "")
		r.Header[gate.SimulateHeader] = []string{what}
		rec := w.do(r)
		want := "monthly_quota_exceeded, key_banned"
		if strings.Contains(what, "delay=") {
			want = `The delay of X-Petstore-Simulate must be at most 30 seconds, as in delay=2s or ` +
				`delay=500ms.","status"`
		}
		if rec.Code != 400 || !strings.Contains(rec.Body.String(), `"invalid_parameter"`) ||
			!strings.Contains(rec.Body.String(), want) {
			t.Errorf("%q: %d %s", what, rec.Code, rec.Body)
		}
	}
	r := w.request("GET", "/v1/pets", "", gate.SimulateHeader, "unavailable")
	r.Header.Add(gate.SimulateHeader, "unavailable")
	assert.Equal(t, w.do(r).Code, 400, "twice")
	if n := len(wrong) + 1; w.meter.admitted != n || len(w.failed.all) != n {
		t.Errorf("%d counted and %d stored, want %d", w.meter.admitted, len(w.failed.all), n)
	}
	assert.Equal(t, w.simulate("GET", "/v1/nowhere", "teapot").Code, 404, "a path that does not exist")
	rec := w.simulate("GET", "/v1/pets", "unavailable", "Authorization", "Bearer "+w.other)
	if want := "X-Petstore-Simulate works with test keys only: those that begin with pst_test_."; rec.Code != 400 ||
		!strings.Contains(rec.Body.String(), want) {
		t.Errorf("a live key: %d %s, want %s", rec.Code, rec.Body, want)
	}
	if rec := w.simulate("GET", "/docs/errors", "unavailable", "Authorization", "Bearer "+w.other); rec.Code != 200 {
		t.Errorf("a page: %d", rec.Code)
	}
}

// TestSimulatedDelay: the operation itself, or the error, comes after the delay, by what holds
// then. It ends when the server stops and when the client disconnects.
func TestSimulatedDelay(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	w := newDrill(t, func(c *Config) { c.Stopping = stopping })
	began := time.Now()
	rec := w.simulate("GET", "/v1/pets", "delay=150ms")
	if took := time.Since(began); rec.Code != 200 || took < 150*time.Millisecond || w.meter.admitted != 1 {
		t.Errorf("%d after %v, %d counted", rec.Code, took, w.meter.admitted)
	}
	began = time.Now()
	rec = w.simulate("GET", "/v1/pets", "delay=0.1s; unavailable")
	if took := time.Since(began); rec.Code != 503 || took < 100*time.Millisecond || w.meter.admitted != 1 {
		t.Errorf("%d after %v, %d counted", rec.Code, took, w.meter.admitted)
	}
	began = time.Now()
	begun, ended := make(chan struct{}, 1000), make(chan int, gate.MaxDelaysPerTenant)
	long := func(ctx context.Context) {
		ended <- w.do(w.request("GET", "/v1/pets", "", gate.SimulateHeader,
			"rate_limit_exceeded;delay=30s").WithContext(waits{ctx, begun})).Code
	}
	ctx, disconnect := context.WithCancel(t.Context())
	go long(ctx)
	<-begun
	disconnect()
	<-ended
	for range gate.MaxDelaysPerTenant {
		go long(t.Context())
		<-begun
	}
	w.directory.change(t, w.other, func(c *keys.Caller) { c.Environment = keys.Test })
	rec = w.simulate("GET", "/v1/pets", "delay=30s")
	if rec.Code != 503 || header(rec, "Retry-After") != "1" ||
		!strings.Contains(rec.Body.String(), "Too many requests wait") {
		t.Errorf("one delay too many: %d %s", rec.Code, rec.Body)
	}
	if rec = w.simulate("GET", "/v1/pets", "delay=1ms", "Authorization", "Bearer "+w.other); rec.Code != 200 {
		t.Errorf("another tenant meanwhile: %d %s", rec.Code, rec.Body)
	}
	w.directory.fail(keys.StatusError(keys.Revoked))
	close(stopping)
	for range gate.MaxDelaysPerTenant {
		assert.Equal(t, <-ended, 401, "a key that was revoked during the delay")
	}
	if took := time.Since(began); took > gate.MaxDelay {
		t.Errorf("neither the client's end nor the server's ended a delay: %v", took)
	}
}

// waits is a context that says when somebody waits for its end, as a simulated delay does.
type waits struct {
	context.Context
	begun chan<- struct{}
}

func (w waits) Done() <-chan struct{} {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	return w.Context.Done()
}
