package store_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage"
)

// staffReads are reads of staff with few connections: a read ends after the timeout also when it
// waits for one that others hold.
func staffReads(t *testing.T, url string) map[string]func(context.Context) error {
	t.Helper()
	db := storetest.Open(t, url, store.Options{Timeout: time.Second, MaxConns: 2})
	return map[string]func(context.Context) error{
		"list tenants": func(ctx context.Context) error {
			_, err := store.Collect(db.Tenants.List(ctx, tenancy.TenantFilter{Limit: 1}))
			return err
		},
		"tenant names": func(ctx context.Context) error { _, err := db.Tenants.Names(ctx, "", 1); return err },
		"get tenant":   func(ctx context.Context) error { _, err := db.Tenants.Get(ctx, "acme"); return err },
		"list keys": func(ctx context.Context) error {
			_, err := store.Collect(db.Keys.List(ctx, tenancy.KeyFilter{Tenant: "acme"}, fixture.Noon))
			return err
		},
		"get key":    func(ctx context.Context) error { _, err := db.Keys.Get(ctx, "key_1"); return err },
		"find key":   func(ctx context.Context) error { _, err := db.Keys.Find(ctx, keys.Digest{}); return err },
		"list plans": func(ctx context.Context) error { _, err := db.Plans.List(ctx); return err },
		"get plan":   func(ctx context.Context) error { _, err := db.Plans.Get(ctx, plans.Free); return err },
		"list bans": func(ctx context.Context) error {
			_, err := store.Collect(db.Bans.List(ctx, tenancy.BanFilter{}, fixture.Noon))
			return err
		},
		"list audit": func(ctx context.Context) error {
			_, err := store.Collect(db.Audit.List(ctx, trail.Filter{}))
			return err
		},
		"renew": func(ctx context.Context) error {
			_, err := db.Cluster.Renew(ctx, cluster.Heartbeat{ServerID: "a"})
			return err
		},
		"used today": func(ctx context.Context) error {
			_,
				err := db.Usage.AdmittedOn(ctx, limits.DayAt(fixture.Noon))
			return err
		},
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := storetest.Open(t, server.URL, store.Options{AsAPI: true, Timeout: fixture.ShortTimeout})
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := db.Pets.ListPets(ctx, 1, catalog.Page{Limit: 20})
			return err
		},
		"get": func(ctx context.Context) error { _, err := db.Pets.GetPet(ctx, 1, 1); return err },
		"create": func(ctx context.Context) error {
			_, err := db.Pets.CreatePet(ctx, 1, catalog.NewPet{Name: "x", Status: "sold"})
			return err
		},
		"change": func(ctx context.Context) error {
			_, err := db.Pets.ChangePet(ctx, 1, 1, catalog.PetPatch{})
			return err
		},
		"list orders": func(ctx context.Context) error {
			_, _, err := db.Orders.ListOrders(ctx, 1, catalog.OrderPage{Limit: 20})
			return err
		},
		"place order": func(ctx context.Context) error {
			_, err := db.Orders.PlaceOrder(ctx, 1, catalog.NewOrder{PetID: 1, Quantity: 1})
			return err
		},
		"change order": func(ctx context.Context) error {
			_, err := db.Orders.ChangeOrder(ctx, 1, 1, catalog.OrderPatch{Status: catalog.Approved})
			return err
		},
		"once": func(ctx context.Context) error {
			_, _, err := fixture.Once(ctx, db.Idempotency, 1, fixture.Adding(fixture.Request("k", "Rex"), "Rex"))
			return err
		},
		"write usage": func(ctx context.Context) error {
			return db.Usage.WriteUsage(ctx, usage.Batch{ServerID: "s1", Number: 1})
		},
		"write failed requests": func(ctx context.Context) error {
			return db.FailedRequests.WriteFailed(ctx,
				[]usage.FailedRequest{{}})
		},
		"prune":  func(ctx context.Context) error { _, err := db.Idempotency.Prune(ctx, fixture.Noon, 1); return err },
		"caller": func(ctx context.Context) error { _, err := db.Keys.Caller(ctx, [32]byte{}, time.Now()); return err },
	}
	maps.Copy(calls, staffReads(t, server.URL))
	for _, call := range calls { // whose statements are prepared
		_ = call(t.Context())
	}
	away := func(how string) {
		t.Helper()
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				start := time.Now()
				err := call(t.Context())
				for _, want := range []error{store.ErrUnavailable, catalog.ErrUnavailable, keys.ErrUnavailable,
					usage.ErrUnavailable} {
					assert.ErrorIs(t, err, want, name, "server", how)
				}
				wait.Bound(t, name+", server "+how, time.Since(start), fixture.ShortTimeout+500*time.Millisecond)
			})
		}
		all.Wait()
	}
	server.Pause()
	away("paused")
	server.Resume()
	server.Stop()
	away("stopped")
	server.Start()
	assert.Equal(t, calls["list"](t.Context()), nil, "list after the server came back")
}
