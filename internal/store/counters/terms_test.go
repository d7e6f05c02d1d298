package counters_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }

// TestWhatACrashMayForget: a renewal is on the disk before its server acts on it, unless the disk has one that is nearly as new.
func TestWhatACrashMayForget(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	servers := func(b time.Time) cluster.State {
		return cluster.State{Servers: []cluster.Server{{ID: "a", Seen: noon}, {ID: "b", Seen: b}}}
	}
	for name, tt := range map[string]struct {
		before cluster.State
		want   bool
	}{
		"in its turn": {servers(noon.Add(-cluster.RenewEvery)), true},
		"late":        {servers(noon.Add(-cluster.RenewLate - 1)), false},
		"paused":      {servers(noon.Add(-time.Hour)), false},
		"a new one":   {cluster.State{Servers: []cluster.Server{{ID: "a", Seen: noon}}}, false},
	} {
		if got := counters.WellKnown(tt.before, servers(noon)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	const onDisk = 600 * time.Millisecond
	if cluster.FenceTimeout < cluster.Lease+onDisk+cluster.RenewLate {
		t.Error("after a crash a server counts as silent while its lease lasts")
	}
}

// TestPausedRenewalBlocksNobody: Postgres ends the transaction of a server that is paused in the middle of it.
func TestPausedRenewalBlocksNobody(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	open := func(o pgconn.Options) *pgconn.DB {
		db, err := pgconn.Open(t.Context(), database.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	// Unlike the API, staff have no other limit on a transaction that is idle.
	paused := open(pgconn.Options{})
	terms := counters.NewTerms(open(pgconn.Options{AsAPI: true, Timeout: 30 * time.Second}))
	begin := time.Now()
	_ = paused.Tx(t.Context(), func(ctx context.Context, tx pgconn.Tx) error {
		if _, err := tx.Exec(ctx, counters.LockClusterQuery); err != nil {
			t.Error(err)
		}
		_, err := terms.Renew(ctx, cluster.Heartbeat{ServerID: "b"})
		if took := time.Since(begin); err != nil || took > 10*time.Second {
			t.Errorf("blocked for %v: %v", took, err)
		}
		return err
	})
}
