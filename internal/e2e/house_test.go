package e2e_test

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/plans/redistest"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

// house is what the servers of a test share.
type house struct {
	t           testing.TB
	databaseURL string // as the owner
	serverURL   string // as the login of servers
	redisURL    string // "" for limits in memory
	petstore    string // the program that serves
	client      *client

	db    *store.DB // as staff
	sql   *sql.DB   // as the owner
	names *atomic.Int64
}

// newHouse is on databases of the test's own on the servers that all tests share.
func newHouse(t testing.TB, withRedis bool) *house {
	t.Helper()
	redisURL := ""
	if withRedis {
		redisURL = redistest.New(t).URL
	}
	return newHouseOn(t, storetest.New(t).URL, redisURL)
}

func newHouseOn(t testing.TB, databaseURL, redisURL string) *house {
	t.Helper()
	h := &house{
		t: t, databaseURL: databaseURL, serverURL: storetest.AsServer(t, databaseURL), redisURL: redisURL,
		petstore: program(t, "petstore"), client: newClient(t), names: new(atomic.Int64),
	}
	var err error
	if h.db, err = store.Open(t.Context(), databaseURL, store.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	if h.sql, err = sql.Open("postgres", databaseURL); err != nil {
		t.Fatal(err)
	}
	h.sql.SetMaxOpenConns(2)
	t.Cleanup(func() {
		// An error is of a connection that the test broke.
		_, _ = h.db.Close(), h.sql.Close()
	})
	return h
}

// in returns the house for a subtest.
func (h *house) in(t testing.TB) *house {
	inner := *h
	inner.t = t
	return &inner
}

// key is an issued key with its plaintext.
type key struct{ id, token string }

// tenant is a customer with its keys.
type tenant struct {
	plans.Tenant
	keys []key
	// used is how many requests were spent on finding it.
	used int64
}

var setUp = audit.By{Actor: "e2e", Reason: "test"}

// tenant makes one with that many keys. own is nil but for Enterprise.
func (h *house) tenant(plan string, own *plans.Quota, keyCount int) *tenant {
	h.t.Helper()
	name := fmt.Sprintf("%s-%d", plan, h.names.Add(1))
	made, err := h.db.Tenants.Create(h.t.Context(), setUp, store.NewTenant{Name: name, Plan: plan, Own: own}, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	t := &tenant{Tenant: made}
	for range keyCount {
		t.keys = append(t.keys, h.issue(made.Name))
	}
	return t
}

func (h *house) issue(tenant string) key {
	h.t.Helper()
	service := &keys.Service{Store: h.db.Keys}
	k, token, err := service.Issue(h.t.Context(), setUp, keys.Request{Tenant: tenant, Environment: keys.Live})
	if err != nil {
		h.t.Fatal(err)
	}
	return key{k.ID, token.Reveal()}
}

// tenantWithin makes tenants until it has one whose minute ends at least and at most that much later, which is told by
// one request to s: minutes begin at another second for each tenant.
func (h *house) tenantWithin(s *server, plan string, own *plans.Quota, keyCount int, least, most time.Duration) *tenant {
	h.t.Helper()
	h.avoidMidnight()
	for range 500 {
		t := h.tenant(plan, own, keyCount)
		a := h.client.get(s, t.keys[0].token, "/pets")
		if a.status != 200 {
			h.t.Fatalf("first request of a tenant: %v", a)
		}
		if left := time.Until(a.windows["minute"].reset); left >= least && left <= most {
			t.used = 1
			return t
		}
	}
	h.t.Fatal("no tenant whose minute ends when it should")
	return nil
}

// freshTenant makes a tenant whose minute has most of its time before it, and which has used one request of it.
func (h *house) freshTenant(s *server, plan string, own *plans.Quota, keyCount int) *tenant {
	h.t.Helper()
	return h.tenantWithin(s, plan, own, keyCount, 40*time.Second, 60*time.Second)
}

// avoidMidnight waits out the last minute of a day: what is shown here of a day must not straddle two.
func (h *house) avoidMidnight() {
	now := time.Now().UTC()
	if midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour); midnight.Sub(now) < 70*time.Second {
		time.Sleep(time.Until(midnight))
	}
}

// number asks the database, as its owner, for one number.
func (h *house) number(query string, args ...any) int64 {
	h.t.Helper()
	var n int64
	if err := h.sql.QueryRowContext(h.t.Context(), query, args...).Scan(&n); err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	return n
}
