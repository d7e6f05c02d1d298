package e2e_test

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestNeighbour: a tenant with many keys that ended and much usage, on all routes that count in no
// window and on the pages of its account, also with changes that are refused and revocations, at
// full speed. No request of another tenant is 503.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	count, days, lasts := 2_000, 10, time.Second
	if long() {
		count, days, lasts = 73_000, 365, 10*time.Second // 200 keys a day for a year
	}
	d := newDeployment(t, false)
	s := d.serve()
	heavy, quiet := d.tenant(plans.Business, nil, 1), d.tenant(plans.Enterprise, hugeQuota, 1)
	d.scope(heavy.keys[0], keys.ScopeManage)
	for from := 1; from <= count; from += 1000 { // More entries of one transaction would take hours.
		d.exec(`
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at, expires_at)
		select 'key_' || substr(md5(n::text), 1, 16), $1, 'live', sha256(n::text::bytea), 'abcd',
			now() - make_interval(mins => 7 * n), now() - make_interval(mins => 7 * n)
		from generate_series($2::int, $2 + 999) n`, heavy.ID, from)
		d.exec(`
		insert into audit_entries (claimed_actor, action, tenant_id, subject, after)
		select 'key:x', 'key.issue', $1, 'key_' || substr(md5(n::text), 1, 16), '{}'
		from generate_series($2::int, $2 + 999) n`, heavy.ID, from)
	}
	d.exec(`
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select $1, date_trunc('hour', now()) - make_interval(hours => h), 'key_' || k,
			(select min(id) from tenant_plans where tenant_id = $1), 1, 5, 1
		from generate_series(1, 24 * $2) h, generate_series(1, 10) k`, heavy.ID, days)
	d.exec(`analyze`)
	requests := []string{
		"GET /v1/keys?status=expired",
		"GET /v1/keys?status=banned",
		"GET /v1/keys?limit=100",
		"GET /v1/requests",
		"GET /v1/requests/x",
		"GET /v1/usage",
		"GET /v1/plans",
		"GET /v1/keys/self",
		"GET /v1/keys/" + heavy.keys[0].id,
		"POST /v1/keys/key_0000000000000000/rotate",
		"POST /v1/keys/" + heavy.keys[0].id + "/revoke", // refused: the last that may manage keys
		"GET /account",
		"GET /account/usage",
		"GET /account/keys",
		"GET /account/requests",
		"GET /account/sign-ins",
		"POST /account/keys/revoke",
		"POST /account/keys/edit",
		"POST /account/keys",
	}
	root := strings.TrimSuffix(s.URL, "/v1")
	visit := signIn(t, root, heavy.keys[0])
	stop := startLoad(6, func(caller, request int) (a response) {
		method, path, _ := strings.Cut(requests[(caller+request)%len(requests)], " ")
		if strings.HasPrefix(path, "/account") {
			a = visit(method, path)
		} else {
			a = d.client.do(t.Context(), method, root+path, heavy.keys[0].token, "")
		}
		if a.status >= 500 {
			a.code += " " + method + " " + path
		}
		return a
	})
	var served []response
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		served = append(served, d.client.get(s, quiet.keys[0].token, "/pets?limit=1"))
	}
	loads := countByCode(stop())
	t.Logf("the load: %v; the neighbour: %v", loads, countByCode(served))
	assert.Equal(t, countByCode(served)["200"], len(served), "served of the neighbour's")
	for what := range loads {
		assert.True(t, !strings.HasPrefix(what, "5"), "the load gets", what, http.StatusText(500))
	}
}

// signIn signs in by a key, and returns what asks for a page or sends an empty form.
func signIn(t *testing.T, root string, k key) func(method, path string) response {
	t.Helper()
	jar, err := cookiejar.New(nil)
	assert.NoError(t, err)
	browser := &http.Client{Jar: jar, Timeout: timeout}
	r, err := browser.PostForm(root+"/account/sign-in", url.Values{"key": {k.token}})
	assert.NoError(t, err)
	assert.NoError(t, r.Body.Close())
	assert.True(t, r.Request.URL.Path == "/account" && r.StatusCode == 200, "not signed in", r.Status)
	return func(method, path string) (a response) {
		q, err := http.NewRequestWithContext(t.Context(), method, root+path, http.NoBody)
		if err == nil {
			a.exchange(browser, q)
		}
		a.err = errors.Join(a.err, err)
		return a
	}
}
