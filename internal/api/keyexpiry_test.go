package api

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"petstore.example/internal/keys"
)

// TestKeyExpires: every response to a key says when it expires, from 30 days before to its end,
// whatever the status is.
func TestKeyExpires(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	expires := at.Add(keys.ExpiryNotice)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.ExpiresAt = expires })
	check := func(name string, rec *httptest.ResponseRecorder, status int, want string) {
		t.Helper()
		if got := header(rec, "X-Key-Expires"); rec.Code != status || got != want {
			t.Errorf("%s: %d, X-Key-Expires %q; want %d and %q", name, rec.Code, got, status, want)
		}
	}
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		return w.do(w.request("GET", path, "", headers...))
	}
	w.setClock(at.Add(-time.Nanosecond))
	check("earlier", get("/v1/pets"), 200, "")
	want := fmt.Sprint(expires.Unix())
	for name, now := range map[string]time.Time{"30 days before": at, "just before": expires.Add(-time.Nanosecond)} {
		w.setClock(now)
		check(name, get("/v1/pets"), 200, want)
	}
	w.setClock(at)
	check("304", get("/v1/pets", "If-None-Match", header(get("/v1/pets"), "ETag")), 304, want)
	check("400", get("/v1/pets?limit=0"), 400, want)
	check("404", get("/nowhere"), 404, want)
	check("405", w.do(w.request("DELETE", "/v1/pets", "")), 405, want)
	check("a page", get("/docs/errors"), 200, want)
	check("usage", get("/v1/usage"), 200, want)
	check("no key", get("/v1/pets", "Authorization", ""), 401, "")
	check("another key", get("/v1/pets", "Authorization", "Bearer "+w.other), 200, "")
	w.pets.err = keys.ErrUnavailable
	check("503", get("/v1/pets?limit=7"), 503, want)
	w.directory.change(
		t,
		w.key,
		func(c *keys.Caller) { c.Ban = &keys.Ban{Reason: "test", EndsAt: at.Add(time.Minute)} },
	)
	check("banned", get("/v1/pets"), 429, want)
	w.directory.fail(keys.StatusError(keys.Expired))
	check("expired", get("/v1/pets"), 401, "")
}

// TestKeyExpiresInWholeSeconds: a key that expires within a second is good until its end, so the
// number is rounded up.
func TestKeyExpiresInWholeSeconds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.ExpiresAt = at.Add(time.Minute + time.Millisecond) })
	rec := w.do(w.request("GET", "/v1/pets", ""))
	if got, want := header(rec, "X-Key-Expires"), fmt.Sprint(at.Unix()+61); got != want {
		t.Errorf("X-Key-Expires %q, want %q", got, want)
	}
}
