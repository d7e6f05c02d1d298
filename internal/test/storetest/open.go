package storetest

import (
	"cmp"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// Open opens a store that is closed when t ends. Without a Timeout its calls have so much time that
// a busy machine does not count as an outage.
func Open(t testing.TB, url string, o store.Options) *store.DB {
	t.Helper()
	o.OpenTimeout, o.Timeout = wait.Limit, cmp.Or(o.Timeout, wait.Limit)
	db, err := store.Open(t.Context(), url, o)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() }) // It fails if a test has stopped the server.
	return db
}

// IssueKey creates the tenant and returns a new live key of it.
func IssueKey(t testing.TB, staff *store.DB, tenant tenancy.NewTenant) string {
	t.Helper()
	by := audit.By{Actor: "test"}
	_, err := staff.Tenants.Create(t.Context(), by, tenant, time.Time{})
	assert.NoError(t, err)
	service := keys.Service{Store: staff.Keys}
	_, token, err := service.Issue(t.Context(), by, keys.Request{Tenant: tenant.Name, Environment: keys.Live})
	assert.NoError(t, err)
	return token.Reveal()
}
