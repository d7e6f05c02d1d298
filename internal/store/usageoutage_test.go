package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// TestUsageIsExactOverOutages freezes, stops and kills the server of a meter that counts all the while.
func TestUsageIsExactOverOutages(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := meter(t, database{&server.Database, connect(t, server.URL)}, 0)
	k := db.key(t, 1)
	m := usage.NewMeter(db.api.Usage, usage.Options{ServerID: "s1", Log: zerolog.Nop()})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	var counted int64
	countUntil := func(done func() bool) {
		for !done() {
			for range 10 {
				m.Admitted(count(k.TenantID, k.ID, eleven, 0, 0).Bucket, eleven, 0, usage.Unlimited)
				counted++
			}
			time.Sleep(time.Millisecond) // a caller's own work
		}
	}
	// The write that meets the outage has failed once that long has passed.
	outage := func() func() bool {
		until := time.Now().Add(2500 * time.Millisecond)
		return func() bool { return time.Now().After(until) }
	}
	recorded := func() bool {
		rows := recordedUsage(t, db)
		return len(rows) > 0 && rows[0].Admitted >= counted-1000
	}
	countUntil(recorded)
	server.Pause()
	countUntil(outage())
	server.Resume()
	countUntil(recorded)
	server.Stop()
	countUntil(outage())
	server.Start()
	countUntil(recorded)
	server.Kill()
	server.Start()
	countUntil(recorded)
	stop()
	running.Wait()
	if rows := recordedUsage(t, db); len(rows) != 1 || rows[0].Admitted != counted {
		t.Errorf("recorded %+v, want %d admitted", rows, counted)
	}
}
