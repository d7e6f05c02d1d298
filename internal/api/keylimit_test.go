package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// keyed is acme's key with a limit of its own, and its tenant's second key without one.
func keyed(t *testing.T, perMinute int64, q plans.Quota) (w *fixture, second limits.Claim) {
	t.Helper()
	w = newFixture(t)
	second = w.acme(t, func(c *keys.Caller) {
		c.Tenant = &plans.Tenant{ID: 1, Name: "acme", Plan: plans.Free, Quota: q}
		c.PerMinute = perMinute
	})
	second.KeyID, second.KeyPerMinute = "key_second", 0
	return w, second
}

// TestKeyLimit: a key's own limit binds it beside its tenant's, all or nothing, and the headers
// show the narrowest. The minute ends in 49 s, the day in 52,692 s.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	w, second := keyed(t, 2, plans.Quota{PerMinute: 4, PerDay: 5})
	const policy = `"minute";q=4;w=60, "day";q=5;w=86400, "key";q=2;w=60`
	expect := func(status int, limit, remaining, state, body string) {
		t.Helper()
		rec := w.do(w.request("GET", "/v1/pets", ""))
		want := map[string]string{
			"X-RateLimit-Limit": limit, "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": "1795166557",
			"RateLimit": state, "RateLimit-Policy": policy,
		}
		if status == http.StatusTooManyRequests {
			want["Retry-After"] = "49"
		}
		if diff := cmp.Diff(want, numbers(rec)); diff != "" || rec.Code != status {
			t.Errorf("%d, want %d, headers (-want +got):\n%s", rec.Code, status, diff)
		}
		if body != "" && rec.Body.String() != body {
			t.Errorf("%s, want %s", rec.Body, body)
		}
	}
	const own = `{"code":"rate_limit_exceeded","message":"This API key's own limit allows 2 requests per minute. ` +
		`Retry in 49 seconds.","status":429}` + "\n"
	expect(200, "2", "1", `"minute";r=3;t=49, "day";r=4;t=52692, "key";r=1;t=49`, "")
	expect(200, "2", "0", `"minute";r=2;t=49, "day";r=3;t=52692, "key";r=0;t=49`, "")
	// Refused by its own, it takes nothing from its tenant's.
	expect(429, "2", "0", `"minute";r=2;t=49, "day";r=3;t=52692, "key";r=0;t=49`, own)
	w.take(t, second, 2)
	// Both refuse, and pass again at the same instant: the tenant's is named, for a wider limit of
	// the key's would not help.
	const plan = `{"code":"rate_limit_exceeded","message":"Plan free allows 4 requests per minute. Retry in 49 ` +
		`seconds.","status":429}` + "\n"
	expect(429, "4", "0", `"minute";r=0;t=49, "day";r=1;t=52692, "key";r=0;t=49`, plan)

	if diff := cmp.Diff(
		[]string{"key_acme", "key_acme"},
		w.strikes.refused,
	); diff != "" || w.meter.admitted != 2 ||
		w.meter.refused != 2 {
		t.Errorf("strikes %v, admitted %d, refused %d", w.strikes.refused, w.meter.admitted, w.meter.refused)
	}
}

// TestKeyLimitIsGivenBack: a request that ends in 5xx is given back in the key's window too.
func TestKeyLimitIsGivenBack(t *testing.T) {
	t.Parallel()
	w, _ := keyed(t, 2, plans.Quota{PerMinute: 4, PerDay: 9})
	for i, c := range []struct {
		err       error
		status    int
		remaining string
	}{
		{catalog.ErrUnavailable, 503, "2"}, {nil, 200, "1"}, {catalog.ErrUnavailable, 503, "1"}, {nil, 200, "0"},
		{nil, 429, "0"},
	} {
		w.pets.err = c.err
		if rec := w.do(w.request("GET", "/v1/pets", "")); rec.Code != c.status ||
			header(rec, "X-RateLimit-Remaining") != c.remaining {
			t.Errorf("request %d: %d %v, want %d, %s remaining", i, rec.Code, numbers(rec), c.status, c.remaining)
		}
	}
}

// TestFailedRequestsAreOptional: an API may run without a record of failed requests.
func TestFailedRequestsAreOptional(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.FailedRequests = nil })
	ban(t, w, nil)
	rec := w.do(w.request("GET", "/v1/pets", ""))
	assert.Equal(t, rec.Code, 429, rec.Body)
}
