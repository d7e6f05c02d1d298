//go:build linux

package running_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestAccountThroughProxies: behind each proxy of deploy/proxy a link signs in, also in a browser
// without Sec-Fetch-Site, each server knows the sign-in at once, and none after the tenant was
// suspended. Neither a proxy nor a server logs the token, the cookie or the query.
func TestAccountThroughProxies(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	staff := storetest.Open(t, database.SupportURL, store.Options{MaxConns: 2})
	f := newPair(t, programs.Path(t, "petstore"), database.APIURL, newRedis(t), "PETSTORE_DRAIN_DELAY=0s")
	by := audit.By{Actor: "e2e"}
	for _, kind := range []proxyKind{nginx, haproxy, caddy} {
		t.Run(kind.program, func(t *testing.T) {
			p := kind.start(t, f)
			_, port, _ := strings.Cut(p.addr, ":")
			client := p.client(t, "127.0.0.1")
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			_, err := staff.Tenants.Create(
				t.Context(),
				by,
				tenancy.NewTenant{Name: kind.program, Plan: plans.Pro},
				time.Time{},
			)
			assert.NoError(t, err)
			token, digest := keys.NewSecret()
			_, err = staff.SignIns.Invite(t.Context(), by, kind.program, keys.Live, digest)
			assert.NoError(t, err)
			var cookie *http.Cookie
			do := func(method, path string, form url.Values) *http.Response {
				t.Helper()
				// With the port, by which Caddy finds the site, and with it the log.
				r, err := http.NewRequestWithContext(
					t.Context(),
					method,
					"https://api.example.com:"+port+"/account"+path,
					strings.NewReader(form.Encode()),
				)
				assert.NoError(t, err)
				if method == http.MethodPost {
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					r.Header.Set("Origin", "https://api.example.com")
				}
				if cookie != nil {
					r.AddCookie(cookie)
				}
				res, err := client.Do(r)
				assert.NoError(t, err)
				assert.NoError(t, res.Body.Close())
				return res
			}
			assert.Equal(t, do(http.MethodGet, "/invitation#"+token, nil).StatusCode, 200, "the link")
			in := do(http.MethodPost, "/invitation", url.Values{"token": {token}})
			if in.StatusCode != http.StatusSeeOther || len(in.Cookies()) != 1 ||
				in.Cookies()[0].Name != "__Host-petstore" ||
				!in.Cookies()[0].Secure {
				t.Fatalf("not signed in: %d %v", in.StatusCode, in.Header)
			}
			cookie = in.Cookies()[0]
			for range 6 {
				res := do(http.MethodGet, "", nil)
				assert.True(
					t,
					res.StatusCode == 200 && res.Header.Get("Cache-Control") == "no-store",
					res.StatusCode,
					res.Header,
				)
			}
			_, err = staff.Tenants.Suspend(t.Context(), by, kind.program, time.Time{})
			assert.NoError(t, err)
			for range 6 {
				assert.Equal(t, do(http.MethodGet, "", nil).StatusCode, http.StatusSeeOther, "after the suspension")
			}
			logs := p.logged(t) + f.servers[0].Stderr() + f.servers[1].Stderr()
			for what, secret := range map[string]string{"token": token, "cookie": cookie.Value} {
				assert.True(t, !strings.Contains(logs, secret), "the", what, "is in a log")
			}
		})
	}
}

// TestLinkToADeadServerIsInNoLog: while no server answers, a proxy logs the request in more places,
// with its address. The token of a link is in none.
func TestLinkToADeadServerIsInNoLog(t *testing.T) {
	t.Parallel()
	for _, kind := range []proxyKind{nginx, haproxy, caddy} {
		t.Run(kind.program, func(t *testing.T) {
			t.Parallel()
			dead := &pair{t: t, hosts: [2]string{"127.0.0.1", "127.0.0.1"}, port: freePort(t), adminPort: freePort(t)}
			p := kind.start(t, dead)
			_, port, _ := strings.Cut(p.addr, ":")
			client := p.client(t, "127.0.0.1")
			token, _ := keys.NewSecret()
			link := "https://api.example.com:" + port + "/account/invitation#" + token
			asked := func(r *http.Request) {
				res, err := client.Do(r)
				assert.NoError(t, err)
				assert.NoError(t, res.Body.Close())
				assert.True(t, res.StatusCode >= 500, r.Method, res.StatusCode)
			}
			get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
			assert.NoError(t, err)
			asked(get)
			form := strings.NewReader(url.Values{"token": {token}}.Encode())
			post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, form)
			assert.NoError(t, err)
			post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			asked(post)
			wait.Until(t, "both requests are in the log", func() bool {
				return strings.Count(p.logged(t), "/account/invitation") >= 2
			})
			assert.True(t, !strings.Contains(p.logged(t), token), "the token is in a log")
		})
	}
}
