package e2e_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
)

// deployment is what the servers of a test share.
type deployment struct {
	t           testing.TB
	databaseURL string // as the owner
	serverURL   string // as the login of servers
	staffURL    string // as a person in support
	redisURL    string // "" for limits in memory
	petstore    string // path of the server program
	client      *client
	// patient is client, but sends a request again after a 503 with Retry-After.
	patient *client

	db    *store.DB // as a person in support
	sql   *sql.DB   // as the owner
	names *atomic.Int64
	// started is how many servers were started.
	started *atomic.Int64
}

// newDeployment returns a deployment on a database of its own, and on a Redis of its own if
// withRedis is set.
func newDeployment(t testing.TB, withRedis bool) *deployment {
	t.Helper()
	redisURL := ""
	if withRedis {
		redisURL = redistest.New(t).URL
	}
	return newDeploymentOn(t, storetest.New(t).URL, redisURL)
}

func newDeploymentOn(t testing.TB, databaseURL, redisURL string) *deployment {
	t.Helper()
	return newDeploymentAs(
		t,
		databaseURL,
		storetest.As(t, databaseURL, storetest.APILogin),
		storetest.As(t, databaseURL, storetest.SupportLogin),
		redisURL,
	)
}

// newDeploymentAs returns a deployment on a database, with these logins.
func newDeploymentAs(t testing.TB, databaseURL, serverURL, staffURL, redisURL string) *deployment {
	t.Helper()
	d := &deployment{
		t: t, databaseURL: databaseURL, serverURL: serverURL, staffURL: staffURL, redisURL: redisURL,
		petstore: program(t, "petstore"), client: newClient(t), names: new(atomic.Int64), started: new(atomic.Int64),
	}
	d.patient = &client{http: d.client.http, check: d.client.check, patient: true}
	d.db = storetest.Open(t, staffURL, store.Options{MaxConns: 2})
	var err error
	d.sql, err = sql.Open("postgres", databaseURL)
	assert.NoError(t, err)
	d.sql.SetMaxOpenConns(2)
	t.Cleanup(func() { _ = d.sql.Close() }) // A test may have broken its connections.
	return d
}

// in returns the deployment for a subtest.
func (d *deployment) in(t testing.TB) *deployment {
	inner := *d
	inner.t = t
	return &inner
}

// key is an issued key with its plaintext.
type key struct{ id, token string }

// tenant is a tenant with its keys.
type tenant struct {
	plans.Tenant
	keys []key
}

var testActor = audit.By{Actor: "e2e", Reason: "test"}

// tenant creates a tenant with that many keys. own is nil except for Enterprise.
func (d *deployment) tenant(plan string, own *plans.Quota, keyCount int) *tenant {
	d.t.Helper()
	name := fmt.Sprintf("%s-%d", plan, d.names.Add(1))
	made, err := d.db.Tenants.Create(
		d.t.Context(),
		testActor,
		tenancy.NewTenant{Name: name, Plan: plan, Own: own},
		time.Time{},
	)
	assert.NoError(d.t, err)
	t := &tenant{Tenant: made}
	for range keyCount {
		t.keys = append(t.keys, d.issue(made.Name))
	}
	return t
}

func (d *deployment) issue(tenant string) key {
	d.t.Helper()
	k, token, err := d.service().Issue(d.t.Context(), testActor, keys.Request{Tenant: tenant, Environment: keys.Live})
	assert.NoError(d.t, err)
	return key{k.ID, token.Reveal()}
}

// service is what staff change keys by.
func (d *deployment) service() *keys.Service { return &keys.Service{Store: d.db.Keys} }

// limit gives a key a limit per minute of its own.
func (d *deployment) limit(k key, perMinute int64) {
	d.t.Helper()
	_, _, err := d.service().Edit(d.t.Context(), testActor, k.id, keys.Edit{PerMinute: &perMinute})
	assert.NoError(d.t, err)
}

// scope gives a key a scope.
func (d *deployment) scope(k key, scope keys.Scope) {
	d.t.Helper()
	_, _, err := d.service().Edit(d.t.Context(), testActor, k.id, keys.Edit{Scope: &scope})
	assert.NoError(d.t, err)
}

// tenantEnding creates a tenant a minute of which ends at that time, to the second: when it does
// depends on the number of the tenant.
func (d *deployment) tenantEnding(at time.Time, plan string, own *plans.Quota, keyCount int) *tenant {
	d.t.Helper()
	for {
		id := d.number(`select coalesce(max(id), 0) from tenants`) + 1
		for limits.MinuteReset(id, limits.MinuteAt(id, at)) != at.Unix()+60 {
			id++
		}
		d.exec(`select setval(pg_get_serial_sequence('tenants', 'id'), $1, false)`, id)
		if t := d.tenant(plan, own, keyCount); t.ID == id {
			return t
		}
	}
}

// freshTenant creates a tenant whose minute has just begun.
func (d *deployment) freshTenant(plan string, own *plans.Quota, keyCount int) *tenant {
	d.t.Helper()
	d.avoidMidnight()
	return d.tenantEnding(time.Now(), plan, own, keyCount)
}

// avoidMidnight waits for the next day if less than 70 seconds are left of this one.
func (d *deployment) avoidMidnight() {
	now := time.Now().UTC()
	if midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour); midnight.Sub(now) < 70*time.Second {
		time.Sleep(time.Until(midnight)) // the day's limit is counted anew then
	}
}

// number queries the database, as its owner, for one number.
func (d *deployment) number(query string, args ...any) int64 {
	d.t.Helper()
	var n int64
	d.scan(&n, query, args...)
	return n
}

// scan queries the database, as its owner, for one value.
func (d *deployment) scan(dest any, query string, args ...any) {
	d.t.Helper()
	assert.NoError(d.t, d.sql.QueryRowContext(d.t.Context(), query, args...).Scan(dest), query)
}

// insertPets inserts available animals as the database's owner and returns their ids.
func (d *deployment) insertPets(tn *tenant, n int) (ids []int64) {
	d.t.Helper()
	d.scan(pq.Array(&ids), `
		with added as (
			insert into pets (tenant_id, name, category_id, status, created_at)
			select $1, 'animal ' || n, n, 'available', now() from generate_series(1, $2) n returning id
		) select array_agg(id order by id) from added`, tn.ID, n)
	return ids
}

// idOf returns the id in a response's body, or 0.
func idOf(a response) int64 {
	var b struct{ ID int64 }
	_ = json.Unmarshal(a.body, &b)
	return b.ID
}
