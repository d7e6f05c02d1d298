package api

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// over sends a request over a connection with that context.
func (w *fixture) over(conn context.Context, r *http.Request) *httptest.ResponseRecorder {
	return w.do(r.WithContext(conn))
}

// fakeConn records whose valid keys were on a connection.
type fakeConn struct {
	net.Conn
	tenants []int64
	gone    bool
}

func (c *fakeConn) SetAuthenticated(tenantID int64) { c.tenants = append(c.tenants, tenantID) }

func (c *fakeConn) Gone() bool { return c.gone }

// TestConnectionIsAuthenticated: a connection learns of valid keys, and of no others.
func TestConnectionIsAuthenticated(t *testing.T) {
	t.Parallel()
	w, conn := newFixture(t), &fakeConn{}
	c := ConnContext(t.Context(), conn)
	wrong := []byte(w.key)
	wrong[len(wrong)-1] ^= 1
	for _, authorization := range []string{"", "Basic " + w.key, "Bearer x", "Bearer " + string(wrong)} {
		w.over(c, w.request("GET", "/v1/pets", "", "Authorization", authorization))
	}
	assert.Equal(t, len(conn.tenants), 0, "valid keys of", conn.tenants)
	w.over(c, w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+w.key))
	assert.DeepEqual(t, conn.tenants, []int64{1})
}

// TestKeysOverOneConnection: the key of one request decides nothing about the next request.
func TestKeysOverOneConnection(t *testing.T) {
	t.Parallel()
	w, c := newFixture(t), ConnContext(t.Context(), nil)
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
	r := w.request("GET", "/v1/pets", "", "Authorization", acme)
	r.Header.Add("Authorization", acme)
	assert.Equal(t, w.over(c, r).Code, 401, "twice")
	w.setPlan(t, plans.Pro, plans.Quota{PerMinute: 120, PerDay: 1000})
	is("on another plan", acme, 200, "120")
	w.directory.revoke(t, w.key)
	is("revoked", acme, 401, "6000")
	is("another's still", zoo, 200, "300")
}

// revoke makes a key nobody's.
func (d *fakeDirectory) revoke(t testing.TB, key string) {
	t.Helper()
	token, err := keys.ParseToken(key)
	assert.NoError(t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.callers, token.Digest())
}

// TestKeptCredentials: a header that was kept has the same answer.
func TestKeptCredentials(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 2 { // The second time, the key is that of the header which was kept.
		for authorization, status := range map[string]int{"Bearer " + w.key: 200, "bearer" +
			strings.Repeat(" ", 100) + w.key: 200, "Bearer " + w.key + " ": 401} {
			rec := w.over(
				ConnContext(t.Context(), nil),
				w.request("GET", "/v1/pets", "", "Authorization", authorization),
			)
			assert.Equal(t, rec.Code, status)
		}
	}
}
