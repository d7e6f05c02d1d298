package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestNeighbour: a tenant with many keys that ended, on all routes that count in no window, at full
// speed. No request of another tenant is 503.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	count, lasts := 2_000, time.Second
	if long() {
		count, lasts = 73_000, 10*time.Second // 200 a day for a year
	}
	d := newDeployment(t, false)
	s := d.serve()
	heavy, quiet := d.tenant(plans.Business, nil, 1), d.tenant(plans.Enterprise, hugeQuota, 1)
	d.scope(heavy.keys[0], keys.ScopeManage)
	d.exec(`
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at, expires_at)
		select 'key_' || substr(md5(n::text), 1, 16), $1, 'live', sha256(n::text::bytea), 'abcd',
			now() - make_interval(mins => 7 * n), now() - make_interval(mins => 7 * n)
		from generate_series(1, $2) n`, heavy.ID, count)
	d.exec(`
		insert into audit_entries (claimed_actor, action, tenant_id, subject, after)
		select 'key:x', 'key.issue', $1, 'key_' || substr(md5(n::text), 1, 16), '{}' from generate_series(1, $2) n`,
		heavy.ID, count)
	paths := []string{
		"/keys?status=expired",
		"/keys?status=banned",
		"/keys?limit=100",
		"/requests",
		"/requests/x",
		"/usage",
		"/plans",
		"/keys/self",
		"/keys/" + heavy.keys[0].id,
	}
	stop := startLoad(6, func(caller, request int) response {
		return d.client.get(s, heavy.keys[0].token, paths[(caller+request)%len(paths)])
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
