package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
)

// TestReadsAreBounded: a read of staff ends after the timeout also when it waits for a connection that others hold.
func TestReadsAreBounded(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	server := storetest.NewServer(t)
	db := storetest.Open(t, server.URL, store.Options{Timeout: timeout, MaxConns: 2})
	calls := map[string]func(context.Context) error{
		"list tenants": func(ctx context.Context) error {
			_, err := store.Collect(db.Tenants.List(ctx, store.TenantFilter{Limit: 1}))
			return err
		},
		"tenant names": func(ctx context.Context) error { _, err := db.Tenants.Names(ctx, "", 1); return err },
		"get tenant":   func(ctx context.Context) error { _, err := db.Tenants.Get(ctx, "acme"); return err },
		"list keys": func(ctx context.Context) error {
			_, err := store.Collect(db.Keys.List(ctx, store.KeyFilter{Tenant: "acme"}, noon))
			return err
		},
		"get key":    func(ctx context.Context) error { _, err := db.Keys.Get(ctx, "key_1"); return err },
		"find key":   func(ctx context.Context) error { _, err := db.Keys.Find(ctx, keys.Digest{}); return err },
		"list plans": func(ctx context.Context) error { _, err := db.Plans.List(ctx); return err },
		"get plan":   func(ctx context.Context) error { _, err := db.Plans.Get(ctx, plans.Free); return err },
		"list bans": func(ctx context.Context) error {
			_, err := store.Collect(db.Bans.List(ctx, store.BanFilter{}, noon))
			return err
		},
		"list audit": func(ctx context.Context) error {
			_, err := store.Collect(db.Audit.List(ctx, store.AuditFilter{}))
			return err
		},
		"renew": func(ctx context.Context) error {
			_, err := db.Cluster.Renew(ctx, cluster.Heartbeat{ServerID: "a"})
			return err
		},
		"used today": func(ctx context.Context) error { _, err := db.Usage.AdmittedOn(ctx, limits.DayAt(noon)); return err },
	}
	var ready, all sync.WaitGroup
	paused := make(chan struct{})
	for name, call := range calls {
		ready.Add(1)
		all.Go(func() {
			_ = call(t.Context())
			ready.Done()
			<-paused
			start := time.Now()
			if err := call(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			}
			if took := time.Since(start); took > 10*timeout {
				t.Errorf("%s took %v, want %v", name, took, timeout)
			}
		})
	}
	ready.Wait()
	server.Pause()
	close(paused)
	all.Wait()
}
