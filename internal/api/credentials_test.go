package api

import (
	"context"
	"fmt"
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

// authenticatedConn records whose valid keys were on a connection.
type authenticatedConn struct {
	net.Conn
	tenants []int64
}

func (c *authenticatedConn) SetAuthenticated(tenantID int64) { c.tenants = append(c.tenants, tenantID) }

// TestConnectionIsAuthenticated: a connection learns of valid keys, and of no others.
func TestConnectionIsAuthenticated(t *testing.T) {
	t.Parallel()
	w, conn := newFixture(t), &authenticatedConn{}
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

// TestKeysOverOneConnection: what a connection remembers of one request decides nothing about the
// next.
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
	if last := connCacheOf(c).last.Load(); len(last.authorization) > maxAuthorization {
		t.Errorf("the connection holds %d bytes", len(last.authorization))
	}
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

// TestRecentCredentials: a header is found with its own key or not at all, on whichever connection
// it came.
func TestRecentCredentials(t *testing.T) {
	t.Parallel()
	r, found := newRecentCredentials(), 0
	headers := make([]*credentialHeader, 2*recentSlots)
	for i := range headers {
		headers[i] = &credentialHeader{authorization: fmt.Sprintf("Bearer %d", i)}
		r.put(headers[i])
	}
	for _, h := range headers {
		switch r.get(h.authorization) {
		case h:
			found++
		case nil:
		default:
			t.Errorf("%q has the key of another", h.authorization)
		}
	}
	if found < recentSlots/2 {
		t.Errorf("%d of %d headers are found, with room for %d", found, len(headers), recentSlots)
	}
	w := newFixture(t)
	for range 2 {
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
