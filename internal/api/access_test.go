package api

import (
	"fmt"
	"net/netip"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// narrow lets the key do what the scope allows, from these addresses.
func (w *fixture) narrow(t *testing.T, scope keys.Scope, ranges keys.Ranges) {
	t.Helper()
	access, err := keys.NewAccess(scope, ranges)
	assert.NoError(t, err)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Access = access })
}

// TestRoutesHaveAScope: TestEveryAnswer tries each route with each scope.
func TestRoutesHaveAScope(t *testing.T) {
	t.Parallel()
	for _, r := range table() {
		if r.public != (r.scope == "") {
			t.Errorf("%s %s has the scope %q", r.method, r.path, r.scope)
		}
	}
}

// TestWhoPaysForForbiddenRequests: a wrong address counts for the address, so that a stolen key can't use up its owner's day. A wrong scope is its
// owner's mistake, and counts one. Both are failed requests of the key.
func TestWhoPaysForForbiddenRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	here := netip.MustParseAddr("192.0.2.1")
	remaining := func() string { return numbers(w.do(w.request("GET", "/v1/usage", "")))["RateLimit"] }
	all := remaining()
	w.narrow(t, keys.ScopeWrite, "198.51.100.0/24")
	rec := w.do(w.request("POST", "/v1/pets", "{}"))
	const elsewhere = `{"code":"address_not_allowed","message":"This API key can't be used from 192.0.2.1. Send the request from one of its addresses, or ask our support to allow this one.","status":403}` + "\n"
	assert.Equal(t, rec.Body.String(), elsewhere)
	assert.Equal(t, fmt.Sprint(w.addresses.used[here], " ", numbers(rec)["X-RateLimit-Limit"], " ", header(rec, "WWW-Authenticate")), "1 6000 ")
	w.narrow(t, keys.ScopeRead, "192.0.2.1,2001:db8::/32")
	assert.Equal(t, remaining(), all, "after a request from another address")

	rec = w.do(w.request("POST", "/v1/pets", "{}"))
	const readOnly = `{"code":"insufficient_scope","message":"This API key has the scope read, and this operation needs the scope write.","status":403}` + "\n"
	assert.Equal(t, rec.Body.String(), readOnly)
	assert.Equal(t, header(rec, "WWW-Authenticate"), `Bearer realm="petstore", error="insufficient_scope", scope="write"`)
	assert.True(t, remaining() != all, "a request with the wrong scope is not counted")
	assert.Equal(t, w.addresses.used[here], 1, "requests of the address")

	var failed []string
	for _, f := range w.failed.all {
		failed = append(failed, f.Code+" "+f.KeyID)
	}
	assert.DeepEqual(t, failed, []string{"address_not_allowed key_acme", "insufficient_scope key_acme"})
}

// TestAddressOfTheCaller: it is the one that limits use: a proxy's word counts if it is trusted, and IPv4 is IPv4 however it is written.
func TestAddressOfTheCaller(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.TrustedProxies = []string{"192.0.2.0/24"} })
	w.narrow(t, keys.ScopeWrite, "203.0.113.0/24,2001:db8::/32")
	for _, c := range []struct {
		peer, forwarded string
		want            int
	}{
		{"203.0.113.9:1", "", 200},
		{"[::ffff:203.0.113.9]:1", "", 200},
		{"[2001:db8::9%eth0]:1", "", 200},
		{"192.0.2.1:1", "203.0.113.9", 200},
		{"192.0.2.1:1", "::ffff:203.0.113.9", 200},
		{"192.0.2.1:1", "203.0.113.9, 198.51.100.1", 403},
		{"198.51.100.1:1", "203.0.113.9", 403},
		{"192.0.2.1:1", "", 403},
		{"@", "", 403},
	} {
		r := w.request("GET", "/v1/pets", "", "X-Forwarded-For", c.forwarded)
		r.RemoteAddr = c.peer
		if rec := w.do(r); rec.Code != c.want {
			t.Errorf("from %s, forwarded for %q: %d, want %d: %s", c.peer, c.forwarded, rec.Code, c.want, rec.Body)
		}
	}
}
