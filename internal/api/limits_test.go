package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// numbers are an answer's limits, by header.
func numbers(rec *httptest.ResponseRecorder) map[string]string {
	n := map[string]string{}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
		"RateLimit", "RateLimit-Policy", "X-Quota-Overage"} {
		if v := header(rec, name); v != "" {
			n[name] = v
		}
	}
	return n
}

// TestLimits works one example through; the day ends 52,692 s after its beginning.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	small := plans.Quota{PerMinute: 3, PerDay: 4}
	w.setPlan(t, plans.Free, small)
	reset := limits.NewMemory().Take(t.Context(), limits.Claim{TenantID: 1, Quota: small}, at).Minute.Reset
	wait := reset - at.Unix()
	const policy = `"minute";q=3;w=60, "day";q=4;w=86400`
	get := func() *httptest.ResponseRecorder { return w.do(w.request("GET", "/v1/pets", "")) }
	for i := range 3 {
		want := fmt.Sprintf(`"minute";r=%d;t=%d, "day";r=%d;t=52692`, 2-i, wait, 3-i)
		assert.Equal(t, header(get(), "RateLimit"), want, "request", i+1)
	}
	rec := get()
	assert.DeepEqual(t, numbers(rec), map[string]string{
		"X-RateLimit-Limit":     "3",
		"X-RateLimit-Remaining": "0",
		"X-RateLimit-Reset":     fmt.Sprint(reset),
		"Retry-After":           fmt.Sprint(wait),
		"RateLimit":             fmt.Sprintf(`"minute";r=0;t=%d, "day";r=1;t=52692`, wait),
		"RateLimit-Policy":      policy,
	})
	minute := fmt.Sprintf(
		`{"code":"rate_limit_exceeded","message":"Plan free allows 3 requests per minute. Retry in %d `+
			`seconds.","status":429}`+"\n",
		wait,
	)
	assert.Equal(t, rec.Body.String(), minute)

	w.setClock(time.Unix(reset, 0))
	if rec = get(); rec.Code != 200 || header(rec, "X-RateLimit-Limit") != "4" ||
		header(rec, "X-RateLimit-Reset") != "1795219200" {
		t.Errorf("at the instant of Retry-After: %d %v", rec.Code, numbers(rec))
	}
	rec = get()
	left := fmt.Sprint(1795219200 - reset)
	assert.DeepEqual(t, numbers(rec), map[string]string{
		"X-RateLimit-Limit": "4", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795219200", "Retry-After": left,
		"RateLimit": `"minute";r=2;t=60, "day";r=0;t=` + left, "RateLimit-Policy": policy,
	})
	want := `{"code":"daily_quota_exceeded","message":"Plan free allows 4 requests per day. Retry in ` + left +
		` seconds.","status":429}` + "\n"
	assert.Equal(t, rec.Body.String(), want, rec.Body)
	if diff := cmp.Diff(
		[]string{"key_acme", "key_acme"},
		w.strikes.refused,
	); diff != "" || w.meter.admitted != 4 ||
		w.meter.refused != 2 {
		t.Errorf("strikes %s, admitted %d, refused %d", diff, w.meter.admitted, w.meter.refused)
	}
}

// TestMonth works an example of a month through, which ends 916,692 s after its beginning: 2 requests
// are included, and one more is admitted.
func TestMonth(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	q := plans.Quota{PerMinute: 60, PerDay: 1000, Month: plans.Month{Kind: plans.SomeMonth, Included: 2,
		Overage: plans.Overage{Kind: plans.OverageShare, Value: 50}}}
	w.setPlan(t, "team", q)
	get := func() map[string]string { return numbers(w.do(w.request("GET", "/v1/pets", ""))) }
	reset := limits.MinuteReset(1, limits.MinuteAt(1, at))
	shown := func(remaining int, overage string) map[string]string {
		minute, wait := 57+remaining, reset-at.Unix()
		n := map[string]string{
			"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": fmt.Sprint(remaining),
			"X-RateLimit-Reset": "1796083200",
			"RateLimit": fmt.Sprintf(`"minute";r=%d;t=%d, "day";r=%d;t=52692, "month";r=%d;t=916692`,
				minute, wait, 940+minute, remaining),
			"RateLimit-Policy": `"minute";q=60;w=60, "day";q=1000;w=86400, "month";q=3;w=2592000`,
		}
		if overage != "" {
			n["X-Quota-Overage"] = overage
		}
		return n
	}
	assert.DeepEqual(t, get(), shown(2, ""), "the first")
	assert.DeepEqual(t, get(), shown(1, ""), "the last included one")
	assert.DeepEqual(t, get(), shown(0, "1"), "the first above")
	w.pets.err = errors.New("broken")
	assert.DeepEqual(t, get()["X-Quota-Overage"], "1", "a request that is refused before it fails")
	w.pets.err = nil
	refused := shown(0, "1")
	refused["Retry-After"] = "916692"
	rec := w.do(w.request("GET", "/v1/pets", ""))
	assert.DeepEqual(t, numbers(rec), refused)
	assert.Equal(t, rec.Body.String(), `{"code":"monthly_quota_exceeded","message":"Plan team includes 2 requests per `+
		`month and allows 1 more. The month ends at 2026-12-01T00:00:00Z. Ask our support for a larger plan or more `+
		`overage, which is in force at once. Retry in 916692 seconds.","status":429}`+"\n")
	assert.Equal(t, len(w.strikes.refused), 2, "strikes")
	assert.DeepEqual(t, w.meter.usedUp, map[usage.Refusal]int{
		{
			TenantID: 1, Window: "month", Limit: 3, Reset: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Unix(),
			Assignment: 7, Version: 2,
		}: 2,
	})

	// The plan changes: what is used stays used.
	q.Month.Included, q.Month.Overage = 10, plans.Overage{Kind: plans.OverageUnlimited}
	w.setPlan(t, "team", q)
	n := get()
	assert.Equal(t, n["X-RateLimit-Limit"]+n["RateLimit-Policy"]+n["X-Quota-Overage"],
		`60"minute";q=60;w=60, "day";q=1000;w=86400`, "unlimited, and fewer than are included")
	q.Month.Included = 1
	w.setPlan(t, "team", q)
	assert.Equal(t, get()["X-Quota-Overage"], "4", "of 5 requests")
	w.pets.err = errors.New("broken")
	assert.Equal(t, get()["X-Quota-Overage"], "4", "after a request that is not counted")
	w.pets.err = nil

	ban(t, w, nil)
	q.Month.Overage = plans.Overage{}
	w.setPlan(t, "team", q)
	ban(t, w, nil)
	n = get()
	assert.Equal(t, n["RateLimit-Policy"]+n["RateLimit"]+n["X-Quota-Overage"],
		`"minute";q=60;w=60, "day";q=1000;w=86400, "month";q=1;w=2592000`+
			`"minute";r=0;t=901, "day";r=0;t=901, "month";r=0;t=901`, "a ban")
	w.setClock(at.AddDate(0, 0, 11))
	n = get()
	assert.Equal(t, n["RateLimit-Policy"]+n["X-RateLimit-Remaining"],
		`"minute";q=60;w=60, "day";q=1000;w=86400, "month";q=1;w=26784000`, "in December")
}

// degraded refuses as one of several servers that have lost their counters.
type degraded struct{ limits.Limiter }

func (l degraded) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	perMinute := c.Quota.PerMinute
	c.Quota.PerMinute = 0
	d := l.Limiter.Take(ctx, c, now)
	d.Minute.Limit, d.Partial = perMinute, true
	return d
}

// TestRefusedByAShare: who is refused by one server's part of the limit may have kept to its plan.
// That is no strike.
func TestRefusedByAShare(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Limiter = degraded{c.Limiter} })
	rec := w.do(w.request("GET", "/v1/pets", ""))
	want := `{"code":"rate_limit_exceeded","message":"Plan free allows 60 requests per minute. Rate limiting is ` +
		`temporarily degraded: ` +
		`this server's share of your limit is used up. Retry in ` + header(
		rec,
		"Retry-After",
	) + ` seconds.","status":429}` + "\n"
	if rec.Code != 429 || rec.Body.String() != want {
		t.Errorf("%d %s, want %s", rec.Code, rec.Body, want)
	}
	w.setPlan(t, plans.Free, plans.Quota{PerMinute: 60})
	rec = w.do(w.request("GET", "/v1/pets", ""))
	assert.True(t, strings.Contains(rec.Body.String(), "daily_quota_exceeded"), rec.Body)
	if len(w.strikes.refused) > 0 || len(w.meter.usedUp) > 0 || w.meter.refused != 2 {
		t.Errorf("strikes %v, told %v, refused %d; want none, 2", w.strikes.refused, w.meter.usedUp, w.meter.refused)
	}
}

// storeless admits like a limiter that can reach neither Redis nor Postgres.
type storeless struct{ limits.Limiter }

func (l storeless) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	d := l.Limiter.Take(ctx, c, now)
	l.Refund(ctx, c, d)
	d.Undecided = d.Admitted
	return d
}

func (l storeless) Peek(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	d := l.Limiter.Peek(ctx, c, now)
	d.Undecided = d.Admitted
	return d
}

// TestNobodyCanDecide: a request that nobody counted is not answered, not even where no row is
// needed for it.
func TestNobodyCanDecide(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Limiter = storeless{c.Limiter} })
	for _, target := range []string{"/v1/pets", "/v1/pets?limit=0", "/v1/nothing"} {
		r := w.request("GET", target, "")
		rec := w.do(r)
		if code := checkAnswer(t, r, rec); code != "unavailable" || header(rec, "X-RateLimit-Remaining") != "60" {
			t.Errorf("%s: %d %s %v", target, rec.Code, rec.Body, numbers(rec))
		}
	}
	if w.meter.admitted != 0 || w.meter.refunded != 0 || w.meter.refused != 0 {
		t.Errorf("admitted %d, refunded %d, refused %d", w.meter.admitted, w.meter.refunded, w.meter.refused)
	}
}

func TestBan(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ban(t, w, nil)
	var rec *httptest.ResponseRecorder
	for _, c := range []struct {
		perMinute            int64
		limit, state, policy string
	}{{2, "2", `, "key";r=0;t=901`, `, "key";q=2;w=60`}, {0, "60", "", ""}} {
		w.acme(t, func(caller *keys.Caller) { caller.PerMinute = c.perMinute })
		rec = w.do(w.request("GET", "/v1/pets", ""))
		assert.DeepEqual(t, numbers(rec), map[string]string{
			"X-RateLimit-Limit":     c.limit,
			"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset":     "1795167409",
			"Retry-After":           "901",
			"RateLimit":             `"minute";r=0;t=901, "day";r=0;t=901` + c.state,
			"RateLimit-Policy":      `"minute";q=60;w=60, "day";q=1000;w=86400` + c.policy,
		})
	}
	const want = `{"code":"key_banned","message":"This API key is banned until 2026-11-20T09:36:49Z: it went on ` +
		`sending requests after 429. ` +
		`Retry in 901 seconds.","status":429}` + "\n"
	assert.Equal(t, rec.Body.String(), want)
	if len(w.strikes.refused) > 0 || w.meter.admitted > 0 {
		t.Errorf("a request during a ban was a strike %v or counted %d", w.strikes.refused, w.meter.admitted)
	}
	w.setClock(at.Add(901 * time.Second))
	if rec = w.do(w.request("GET", "/v1/pets", "")); rec.Code != 200 || header(rec, "X-RateLimit-Remaining") != "59" {
		t.Errorf("after the ban: %d %v", rec.Code, numbers(rec))
	}
}

// TestWhatCounts: whatever a caller is let in with counts one; what is refused, unauthenticated or
// OPTIONS does not.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, target, body, header string
		status, counts               int
		limit                        string
	}{
		{"GET", "/v1/pets", "", "", 200, 1, "60"},
		{"HEAD", "/v1/pets", "", "", 200, 1, "60"},
		{"POST", "/v1/pets", "[", "", 400, 1, "60"},
		{"GET", "/v1/pets", "", "If-None-Match: *", 304, 1, "60"},
		{"GET", "/v1/pets/9", "", "", 404, 1, "60"},
		{"GET", "/v1/nothing", "", "", 404, 1, "60"},
		{"GET", "/v1/usage", "", "", 200, 0, "60"},
		{"HEAD", "/v1/usage", "", "", 200, 0, "60"},
		{"POST", "/v1/usage", "", "", 405, 1, "60"},
		{"OPTIONS", "/v1/usage", "", "", 204, 0, "6000"},
		{"GET", "/v1/usage", "", "Authorization: Bearer x", 401, 0, "6000"},
		{"DELETE", "/v1/pets", "", "", 405, 1, "60"},
		{"OPTIONS", "/v1/pets", "", "", 204, 0, "6000"},
		{"OPTIONS", "/v1/nothing", "", "", 404, 0, "6000"},
		{"GET", "/v1/pets", "", "Authorization: Bearer x", 401, 0, "6000"},
		{"GET", "/v1/nothing", "", "Authorization: Bearer x", 404, 0, "6000"},
		{"DELETE", "/v1/pets", "", "Authorization: Basic x", 405, 0, "6000"},
	} {
		w := newFixture(t)
		var headers []string
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			headers = []string{name, value}
		}
		rec := w.do(w.request(c.method, c.target, c.body, headers...))
		if rec.Code != c.status || w.meter.admitted != c.counts || header(rec, "X-RateLimit-Limit") != c.limit {
			t.Errorf(
				"%s %s: %d, counted %d, %v; want %d, %d, %s",
				c.method,
				c.target,
				rec.Code,
				w.meter.admitted,
				numbers(rec),
				c.status,
				c.counts,
				c.limit,
			)
		}
		after := header(w.do(w.request("GET", "/v1/pets", "")), "X-RateLimit-Remaining")
		want := fmt.Sprint(59 - c.counts)
		assert.Equal(t, after, want, "after", c.method, c.target, "remain")
	}
}

// TestOptionsNeverCount: not in the address's bucket either, and a full one does not refuse them.
func TestOptionsNeverCount(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addresses.limit = 1
	preflight := func() *httptest.ResponseRecorder {
		return w.do(
			w.request(
				"OPTIONS",
				"/v1/pets",
				"",
				"Authorization",
				"",
				"Origin",
				"https://shop.example",
				"Access-Control-Request-Method",
				"GET",
			),
		)
	}
	stranger := func() *httptest.ResponseRecorder { return w.do(w.request("GET", "/v1/pets", "", "Authorization", "")) }
	for i, c := range []struct {
		ask       func() *httptest.ResponseRecorder
		status    int
		remaining string
	}{
		{preflight, 204, "1"}, {preflight, 204, "1"}, {stranger, 401, "0"}, {stranger, 429, "0"}, {preflight, 204, "0"},
	} {
		if rec := c.ask(); rec.Code != c.status || header(rec, "X-RateLimit-Remaining") != c.remaining {
			t.Errorf("request %d: %d %v, want %d, %s remaining", i, rec.Code, numbers(rec), c.status, c.remaining)
		}
	}
}

// TestRefund: a request that ends in 5xx is given back, also when its client has hung up, and its
// answer says so already. A request that ends because its client hung up is not: else hanging up
// would be a way around the limit.
func TestRefund(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		fault            func(p *fakePets, disconnect func())
		status, refunded int
	}{
		{"unavailable", func(p *fakePets, _ func()) { p.err = catalog.ErrUnavailable }, 503, 1},
		{"too slow", func(p *fakePets, _ func()) { p.err = fmt.Errorf("list: %w", context.DeadlineExceeded) }, 503, 1},
		{"bug", func(p *fakePets, _ func()) { p.err = errors.New("bug") }, 500, 1},
		{"panic", func(p *fakePets, _ func()) { p.before = func() { panic("bug") } }, 500, 1},
		{"unavailable, the client gone", func(p *fakePets, disconnect func()) {
			p.before, p.err = disconnect, fmt.Errorf("list: %w", catalog.ErrUnavailable)
		}, 503, 1},
		{"bug, the client gone",
			func(p *fakePets, disconnect func()) { p.before, p.err = disconnect, errors.New("bug") }, 500, 1},
		{"hung up", func(p *fakePets, disconnect func()) {
			p.before, p.err = disconnect, fmt.Errorf("list: %w", context.Canceled)
		}, 499, 0},
	} {
		w := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.fault(w.pets, cancel)
		rec := w.do(w.request("GET", "/v1/pets", "").WithContext(ctx))
		cancel()
		if logged := event(t, w)["status"]; logged != float64(c.status) || w.meter.admitted != 1 ||
			w.meter.refunded != c.refunded {
			t.Errorf("%s: logged as %v, admitted %d, refunded %d", c.name, logged, w.meter.admitted, w.meter.refunded)
		}
		if c.refunded == 1 && (rec.Code != c.status || header(rec, "X-RateLimit-Remaining") != "60") {
			t.Errorf("%s: %d %v", c.name, rec.Code, numbers(rec))
		}
		w.pets.err, w.pets.before = nil, nil
		if got, want := header(
			w.do(w.request("GET", "/v1/pets", "")),
			"X-RateLimit-Remaining",
		), fmt.Sprint(58+c.refunded); got != want {
			t.Errorf("%s: %s remain afterwards, want %s", c.name, got, want)
		}
	}
}

// TestGoneClient: a write that the store has not begun because its connection says that the client is
// gone ends as one whose client hung up, also before net/http has noticed.
func TestGoneClient(t *testing.T) {
	t.Parallel()
	w, conn := newFixture(t), &fakeConn{}
	ctx := ConnContext(t.Context(), conn)
	assert.True(t, !ClientGone(ctx) && !ClientGone(t.Context()), "a client is gone")
	conn.gone = true
	assert.True(t, ClientGone(ctx), "the client is not gone")
	w.pets.err = fmt.Errorf("create: %w: %w", catalog.ErrNotMade, context.Canceled)
	w.over(ctx, w.request("POST", "/v1/pets", rex))
	assert.Equal(t, event(t, w)["status"], any(499.0), "logged as")
	assert.Equal(t, w.meter.refunded, 0, "given back")
}

// TestForwardedIsBounded: a client's long X-Forwarded-For does not cost as many allocations as it
// has commas.
func TestForwardedIsBounded(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Forwarded-For": {strings.Repeat("1:99999,", 4_000), "192.0.2.1:80", "192.0.2.2"}}
	withoutPorts(h)
	if got := h["X-Forwarded-For"]; len(got) != 1 || !strings.HasSuffix(got[0], ",1:99999,,192.0.2.1,192.0.2.2") ||
		strings.Count(got[0], ",") != maxForwarded-1 {
		t.Errorf("%.100q", got)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		trusted   []string
		peer      string
		forwarded []string
		want      string
	}{
		{"direct", nil, "192.0.2.1:1234", nil, "192.0.2.1"},
		{"nobody is trusted", nil, "192.0.2.1:1234", []string{"198.51.100.7"}, "192.0.2.1"},
		{"a trusted proxy", []string{"192.0.2.0/24"}, "192.0.2.1:1234", []string{"198.51.100.7"}, "198.51.100.7"},
		{"through two", []string{"192.0.2.0/24"}, "192.0.2.1:1234",
			[]string{"203.0.113.9, 198.51.100.7", "192.0.2.2"}, "198.51.100.7"},
		{"not the trusted one", []string{"192.0.2.9"}, "192.0.2.1:1234", []string{"198.51.100.7"}, "192.0.2.1"},
		{"rubbish", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"x"}, "192.0.2.1"},
		{"with a port", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"198.51.100.7:5678"}, "198.51.100.7"},
		{"IPv6 with a port", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"[2001:db8::7]:5678"}, "2001:db8::7"},
		{"IPv6 without one", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"2001:db8::7"}, "2001:db8::7"},
		{
			"ports through two", []string{"192.0.2.0/24"}, "192.0.2.1:1234",
			[]string{"203.0.113.9:1, 198.51.100.7:80", "192.0.2.2:443"}, "198.51.100.7",
		},
		{"a port that is none", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"198.51.100.7:99999"}, "192.0.2.1"},
		{"a name with a port", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"host:80"}, "192.0.2.1"},
		{"rubbish before", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"x:y, 198.51.100.7:80"}, "198.51.100.7"},
		{"rubbish behind", []string{"192.0.2.1"}, "192.0.2.1:1234", []string{"198.51.100.7:80, x"}, "192.0.2.1"},
		{"very many before", []string{"192.0.2.1"}, "192.0.2.1:1234",
			[]string{strings.Repeat(",", 30_000) + "198.51.100.7:80"}, "198.51.100.7"},
		{"ports of nobody trusted", nil, "192.0.2.1:1234", []string{"198.51.100.7:80"}, "192.0.2.1"},
		{"IPv6", nil, "[2001:db8::1]:1234", nil, "2001:db8::1"},
		{"no address", nil, "@", nil, netip.Addr{}.String()},
	} {
		w := newFixture(t, func(cfg *Config) { cfg.TrustedProxies = c.trusted })
		r := w.request(
			"GET",
			"/v1/pets",
			"",
			"Authorization",
			"",
			"X-Real-Ip",
			"203.0.113.66",
			"Forwarded",
			"for=203.0.113.66",
		)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		w.do(r)
		for addr := range w.addresses.used {
			assert.Equal(t, addr.String(), c.want, c.name, "counted for", addr)
		}
	}
}

// TestUnknownInAnOutage: who can't be known because keys can't be looked up is no stranger. The
// address's bucket is shown, but neither counts nor refuses, however many come.
func TestUnknownInAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"unavailable": {fmt.Errorf("look up: %w", keys.ErrUnavailable), 503, "unavailable"},
		"bug":         {errors.New("bug"), 500, "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.addresses.limit = 2
			stranger := func() *httptest.ResponseRecorder {
				return w.do(w.request("GET", "/v1/pets", "",
					"Authorization", ""))
			}
			stranger()
			ask := func(remain string) {
				t.Helper()
				w.directory.fail(c.err)
				defer w.directory.fail(nil)
				for range 5 {
					r := w.request("GET", "/v1/pets", "")
					rec := w.do(r)
					if code := checkAnswer(t, r, rec); rec.Code != c.status || code != c.code ||
						header(rec, "X-RateLimit-Limit") != "2" || header(rec, "X-RateLimit-Remaining") != remain {
						t.Errorf(
							"%d %s %v, want %d %s and %s to remain",
							rec.Code,
							code,
							numbers(rec),
							c.status,
							c.code,
							remain,
						)
					}
				}
			}
			ask("1")
			if rec := stranger(); rec.Code != 401 || header(rec, "X-RateLimit-Remaining") != "0" {
				t.Errorf(
					"after an outage a stranger gets %d %v: requests during it were counted",
					rec.Code,
					numbers(rec),
				)
			}
			assert.Equal(t, stranger().Code, 429)
			ask("0")
		})
	}
}
