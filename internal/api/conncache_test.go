package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// fakeConn is a connection's one value.
type fakeConn struct{ data any }

func (c *fakeConn) UserData() any        { return c.data }
func (c *fakeConn) SetUserData(data any) { c.data = data }

// connRecorder records a response of one connection.
type connRecorder struct {
	*httptest.ResponseRecorder
	*fakeConn
}

// over sends a request over a connection.
func (w *fixture) over(c *fakeConn, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(connRecorder{rec, c}, r)
	return rec
}

// TestKeysOverOneConnection: what a connection remembers of one request decides nothing about the next.
func TestKeysOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newFixture(t), &fakeConn{}
	ask := func(authorization string) (status int, limit string) {
		t.Helper()
		rec := w.over(c, w.request("GET", "/v1/pets", "", "Authorization", authorization))
		return rec.Code, header(rec, "X-RateLimit-Limit")
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
	if k := c.data.(*connCache); len(k.authorization) > maxAuthorization {
		t.Errorf("the connection holds %d bytes", len(k.authorization))
	}
	r := w.request("GET", "/v1/pets", "", "Authorization", acme)
	r.Header.Add("Authorization", acme)
	if rec := w.over(c, r); rec.Code != 401 {
		t.Errorf("twice: %d", rec.Code)
	}
	w.setPlan(t, plans.Pro, plans.Quota{PerMinute: 120, PerDay: 1000})
	is("on another plan", acme, 200, "120")
	w.directory.revoke(t, w.key)
	is("revoked", acme, 401, "6000")
	is("another's still", zoo, 200, "300")
}

// TestPeersOverOneConnection: who calls without a key is counted by its own address.
func TestPeersOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newFixture(t), &fakeConn{}
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
