package store_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/storetest"
)

// staffReads are reads of staff with few connections: a read ends after the timeout also when it
// waits for one that others hold.
func staffReads(t *testing.T, url string) map[string]func(context.Context) error {
	t.Helper()
	db := storetest.Open(t, url, store.Options{Timeout: time.Second, MaxConns: 2})
	return map[string]func(context.Context) error{
		"list tenants": func(ctx context.Context) error {
			_, err := store.Collect(db.Tenants.List(ctx, people.TenantFilter{Limit: 1}))
			return err
		},
		"tenant names": func(ctx context.Context) error { _, err := db.Tenants.Names(ctx, "", 1); return err },
		"get tenant":   func(ctx context.Context) error { _, err := db.Tenants.Get(ctx, "acme"); return err },
		"list keys": func(ctx context.Context) error {
			_, err := store.Collect(db.Keys.List(ctx, people.KeyFilter{Tenant: "acme"}, noon))
			return err
		},
		"get key":    func(ctx context.Context) error { _, err := db.Keys.Get(ctx, "key_1"); return err },
		"find key":   func(ctx context.Context) error { _, err := db.Keys.Find(ctx, keys.Digest{}); return err },
		"list plans": func(ctx context.Context) error { _, err := db.Plans.List(ctx); return err },
		"get plan":   func(ctx context.Context) error { _, err := db.Plans.Get(ctx, plans.Free); return err },
		"list bans": func(ctx context.Context) error {
			_, err := store.Collect(db.Bans.List(ctx, people.BanFilter{}, noon))
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
				err := db.Usage.AdmittedOn(ctx, limits.DayAt(noon))
			return err
		},
	}
}
