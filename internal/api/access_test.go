package api

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// narrow lets the key do what the scope allows, from these addresses.
func (w *fixture) narrow(t testing.TB, scope keys.Scope, ranges keys.Ranges) {
	t.Helper()
	access, err := keys.NewAccess(scope, ranges)
	assert.NoError(t, err)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Access = access })
}

// TestEveryScope sends each route a request by a key of each scope about what is the tenant's own,
// another's and nobody's. The last two get the same response, but for its ID.
func TestEveryScope(t *testing.T) {
	t.Parallel()
	for _, r := range routesOf(table()) {
		assert.Equal(t, r.public, r.scope == "", r.method, r.path, "has a scope")
		for _, scope := range keys.Scopes {
			responses := map[string]string{}
			for _, id := range []string{"own", "another's", "unknown", self} {
				if r.public || id != "own" && !rows(r) || id == self && r.selfScope == "" {
					continue
				}
				w := newFixture(t)
				req := w.goodRequest(t, r)
				w.narrow(t, scope, "")
				needs := r.scope
				switch id {
				case "another's":
					theirs, err := w.pets.CreatePet(
						t.Context(),
						2,
						catalog.NewPet{Name: "Zoe", Status: catalog.Available},
					)
					assert.NoError(t, err)
					order, err := w.orders.PlaceOrder(t.Context(), 2, catalog.NewOrder{PetID: theirs.ID, Quantity: 1})
					assert.NoError(t, err)
					req = w.about(r, req, fmt.Sprint(theirs.ID), fmt.Sprint(order.ID), theirKey)
				case "unknown":
					req = w.about(r, req, "99", "99", "key_0000000000000099")
				case self:
					req, needs = w.about(r, req, "", "", self), r.selfScope
				}
				want := success(r)
				if id == "another's" || id == "unknown" {
					want = 404
				}
				if slices.Index(keys.Scopes, scope) < slices.Index(keys.Scopes, needs) {
					want = 403
				}
				req.Header.Set("X-Request-Id", "test")
				rec := w.do(req)
				assert.Equal(t, rec.Code, want, r.method, r.path, scope, id, rec.Body)
				responses[id] = fmt.Sprint(rec.Code, rec.Result().Header, rec.Body)
			}
			assert.Equal(t, responses["another's"], responses["unknown"], r.method, r.path, scope)
		}
	}
}

// about is the request about other rows.
func (w *fixture) about(r route, req *http.Request, pet, order, key string) *http.Request {
	body, _ := io.ReadAll(req.Body)
	return w.request(
		r.method,
		strings.NewReplacer("{petId}", pet, "{orderId}", order, "{keyId}", key).Replace(r.path),
		string(body),
	)
}

// TestWhoPaysForForbiddenRequests: a wrong address counts for the address, so that a stolen key
// can't use up its owner's day. A wrong scope is its owner's mistake, and counts one. Both are
// failed requests of the key.
func TestWhoPaysForForbiddenRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	here := netip.MustParseAddr("192.0.2.1")
	remaining := func() string { return numbers(w.do(w.request("GET", "/v1/usage", "")))["RateLimit"] }
	all := remaining()
	w.narrow(t, keys.ScopeWrite, "198.51.100.0/24")
	rec := w.do(w.request("POST", "/v1/pets", "{}"))
	const elsewhere = `{"code":"address_not_allowed","message":"This API key ` +
		`can't be used from 192.0.2.1. Send the request from one of its addresses, or allow this one: with a key ` +
		`that may manage keys, on your account page, or through our support.","status":403}` + "\n"
	assert.Equal(t, rec.Body.String(), elsewhere)
	assert.Equal(
		t,
		fmt.Sprint(
			w.addresses.used[here],
			" ",
			numbers(rec)["X-RateLimit-Limit"],
			" ",
			header(rec, "WWW-Authenticate"),
		),
		"1 6000 ",
	)
	w.narrow(t, keys.ScopeRead, "192.0.2.1,2001:db8::/32")
	assert.Equal(t, remaining(), all, "after a request from another address")

	rec = w.do(w.request("POST", "/v1/pets", "{}"))
	const readOnly = `{"code":"insufficient_scope","message":"This API key has the scope read, and this operation ` +
		`needs the scope write.","status":403}` + "\n"
	assert.Equal(t, rec.Body.String(), readOnly)
	assert.Equal(
		t,
		header(rec, "WWW-Authenticate"),
		`Bearer realm="petstore", error="insufficient_scope", scope="write"`,
	)
	assert.True(t, remaining() != all, "a request with the wrong scope is not counted")
	assert.Equal(t, w.addresses.used[here], 1, "requests of the address")

	var failed []string
	for _, f := range w.failed.all {
		failed = append(failed, f.Code+" "+f.KeyID)
	}
	assert.DeepEqual(t, failed, []string{"address_not_allowed key_acme", "insufficient_scope key_acme"})
}

// TestAddressOfTheCaller: it is the one that limits use: a proxy's word counts if it is trusted,
// and IPv4 is IPv4 however it is written.
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
