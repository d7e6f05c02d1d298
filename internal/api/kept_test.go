package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/httpfast"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// over sends requests over one connection, and returns each answer with the head that was left with the connection.
func (w *world) over(c *httpfast.Conn, r *http.Request) (rec *httptest.ResponseRecorder, head string) {
	rec = w.do(r.WithContext(httpfast.Context(r.Context(), c)))
	return rec, string(c.Head)
}

// newConnWorld is a world without the check of the contract, which can't see what goes with the connection.
func newConnWorld(t *testing.T) *world { return newWorld(struct{ testing.TB }{t}) }

// TestKeysOverOneConnection: what a connection remembers of one request decides nothing about the next.
func TestKeysOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newConnWorld(t), &httpfast.Conn{}
	ask := func(authorization string) (status int, limit string) {
		t.Helper()
		rec, head := w.over(c, w.request("GET", "/v1/pets", "", "Authorization", authorization))
		_, limit, _ = strings.Cut(head, "X-RateLimit-Limit: ")
		limit, _, _ = strings.Cut(limit, "\r\n")
		return rec.Code, limit
	}
	is := func(step, authorization string, status int, limit string) {
		t.Helper()
		if s, l := ask(authorization); s != status || l != limit {
			t.Errorf("%s: %d with limit %s, want %d with %s", step, s, l, status, limit)
		}
	}
	acme, zoo := "Bearer "+w.key, "Bearer "+w.other
	wrong := []byte(acme)
	wrong[len(wrong)-1] ^= 1
	is("the first", acme, 200, "60")
	is("again", acme, 200, "60")
	is("another tenant's", zoo, 200, "300")
	is("the first tenant's", acme, 200, "60")
	is("a wrong one", string(wrong), 401, "6000")
	is("none", "", 401, "6000")
	is("one of another scheme", "Basic "+w.key, 401, "6000")
	is("part of it", acme[:len(acme)-1], 401, "6000")
	is("more than it", acme+" ", 401, "6000")
	is("as good with more spaces", "bearer  "+w.key, 200, "60")
	is("with very many", "bearer"+strings.Repeat(" ", 100)+w.key, 200, "60")
	if k := c.Kept.(*kept); len(k.authorization) > maxAuthorization {
		t.Errorf("the connection holds %d bytes", len(k.authorization))
	}
	r := w.request("GET", "/v1/pets", "", "Authorization", acme)
	r.Header.Add("Authorization", acme)
	if rec, _ := w.over(c, r); rec.Code != 401 {
		t.Errorf("twice: %d", rec.Code)
	}
	w.directory.change(t, w.key, func(c *keys.Caller) {
		c.Tenant = &plans.Tenant{ID: 1, Plan: plans.Pro, Quota: plans.Quota{PerMinute: 120, PerDay: 1000}}
	})
	is("on another plan", acme, 200, "120")
	w.directory.revoke(t, w.key)
	is("revoked", acme, 401, "6000")
	is("another's still", zoo, 200, "300")
}

// TestPeersOverOneConnection: who calls without a key is counted by its own address.
func TestPeersOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newConnWorld(t), &httpfast.Conn{}
	for _, remote := range []string{"192.0.2.1:1", "192.0.2.1:1", "[2001:db8::1]:1", "192.0.2.1:2", "nonsense", "192.0.2.1:1", "192.0.2.1:1"} {
		r := w.request("GET", "/v1/pets", "", "Authorization", "")
		r.RemoteAddr = remote
		w.over(c, r)
	}
	got := map[string]int64{}
	for addr, n := range w.addresses.used {
		got[addr.String()] = n
	}
	if len(got) != 3 || got["192.0.2.1"] != 5 || got["2001:db8::1"] != 1 || got["invalid IP"] != 1 {
		t.Errorf("counted %v", got)
	}
}

// revoke makes a key nobody's.
func (d *fakeDirectory) revoke(t testing.TB, key string) {
	t.Helper()
	token, err := keys.ParseToken(key)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.callers, token.Digest())
}

// TestLimitLinesOverOneConnection: whatever a connection has said of limits before, it says what the map's way says.
func TestLimitLinesOverOneConnection(t *testing.T) {
	t.Parallel()
	w := newConnWorld(t)
	kept := &limitLines{}
	tenant := func(d plans.Decision) allowance { return tenantAllowance(&d) }
	claim := plans.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 2, PerDay: 1000}}
	larger := plans.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 2, PerDay: 1001}}
	other := plans.Claim{TenantID: 2, KeyID: "k", Quota: claim.Quota, KeyPerMinute: 1}
	for i, l := range []allowance{
		{},
		tenant(w.limiter.Take(t.Context(), claim, at)),
		tenant(w.limiter.Take(t.Context(), claim, at)),
		tenant(w.limiter.Take(t.Context(), claim, at)),
		tenant(w.limiter.Take(t.Context(), larger, at)),
		tenant(w.limiter.Take(t.Context(), other, at)),
		tenant(w.limiter.Take(t.Context(), other, at)),
		addressAllowance(w.addresses.Take(netip.Addr{}, at)),
		addressAllowance(w.addresses.Take(netip.Addr{}, at)),
		bannedAllowance(&keys.Caller{Tenant: &plans.Tenant{Quota: claim.Quota}}, at.Unix()+900),
		tenant(w.limiter.Take(t.Context(), claim, at.Add(time.Hour))),
	} {
		for _, now := range []int64{at.Unix(), at.Unix(), at.Unix() + 1, at.Unix() + 86400} {
			want := string(new(limitLines).append(nil, &l, now))
			if got := string(kept.append(nil, &l, now)); got != want {
				t.Errorf("%d at %d: %q, want %q", i, now, got, want)
			}
		}
	}
}

// TestRefusalsOverOneConnection: each refusal names its own plan, limit, window and wait, whatever was refused before on the connection.
func TestRefusalsOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newConnWorld(t), &httpfast.Conn{}
	caller := func(key, plan string, q plans.Quota, own int64) {
		w.directory.change(t, key, func(c *keys.Caller) {
			c.Tenant, c.PerMinute = &plans.Tenant{ID: c.Tenant.ID, Plan: plan, Quota: q}, own
		})
	}
	same := func(key string) {
		t.Helper()
		w.strikes.refused = nil
		ask := func() *http.Request {
			return w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+key, "X-Request-Id", "same")
		}
		want, wantHead := w.over(&httpfast.Conn{}, ask())
		for range 2 {
			got, head := w.over(c, ask())
			if want.Code != 429 || got.Code != want.Code || got.Body.String() != want.Body.String() || head != wantHead {
				t.Errorf("got  %d %s %s\nwant %d %s %s", got.Code, got.Body, head, want.Code, want.Body, wantHead)
			}
		}
	}
	none := plans.Quota{PerMinute: 0, PerDay: 9}
	caller(w.key, plans.Free, none, 0)
	caller(w.other, plans.Free, none, 0)
	same(w.key)
	same(w.other)
	caller(w.other, plans.Pro, none, 0)
	same(w.other)
	caller(w.other, plans.Pro, plans.Quota{PerMinute: 9, PerDay: 0}, 0)
	same(w.other)
	same(w.key)
	w.setClock(at.Add(time.Second))
	same(w.key)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Ban = &keys.Ban{Reason: "abuse", EndsAt: at.Add(time.Hour)} })
	same(w.key)
}
