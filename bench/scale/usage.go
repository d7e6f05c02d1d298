package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/cputime"
	"petstore.example/bench/must"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage"
)

const (
	usageTime = 8 * time.Second
	mostKeys  = 10_000
)

func usagePart(ctx context.Context, e *env) *table {
	t := &table{head: []string{"active keys", "requests/s", "batches/s", "rows/s", "PostgreSQL ms/s"}}
	url := e.database(ctx, "usage", mostKeys)
	fillKeys(ctx, url, mostKeys, keysPerTenant)
	db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
	e.Cleanup(func(context.Context) error { return db.Close() })
	for _, n := range e.upTo(100, 1_000, mostKeys) {
		for _, rate := range []int{10_000, 100_000, 1_000_000} {
			if rate >= 10*n { // At lower rates some keys are not used between two writes.
				t.add(append([]string{withCommas(n)}, record(ctx, e, db, n, rate)...)...)
			}
		}
	}
	return t
}

// record counts requests of that many keys at a rate during usageTime, with one meter as in a
// server, and returns the cells of a row.
func record(ctx context.Context, e *env, db *store.DB, active, rate int) []string {
	counted := &countingStore{Usage: db.Usage}
	meter := usage.NewMeter(counted, usage.Options{ServerID: fmt.Sprintf("%d-%d", active, rate), Log: zerolog.Nop()})
	count(meter, active, 0, active) // writes the first use of every key before the measurement
	must.Do(meter.Flush(ctx))
	counted.batches.Store(0)
	counted.rows.Store(0)
	before := must.Get(cputime.Of(e.postgres.PID(), nil))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running errgroup.Group
	running.Go(func() error { return meter.Run(ctx) })
	start := time.Now()
	requests := 0
	for elapsed := time.Duration(0); elapsed < usageTime; elapsed = time.Since(start) {
		due := int(elapsed.Seconds() * float64(rate))
		count(meter, active, requests, due)
		requests = due
		time.Sleep(5 * time.Millisecond) // until more requests are due
	}
	stop()
	must.Do(running.Wait())
	took, seconds := must.Get(cputime.Of(e.postgres.PID(), nil))-before, time.Since(start).Seconds()
	perSecond := func(n float64) string { return significant(n / seconds) }
	return []string{withCommas(int(float64(requests) / seconds)), perSecond(float64(counted.batches.Load())),
		perSecond(float64(counted.rows.Load())), perSecond(took.Seconds() * 1e3)}
}

// count counts the requests from up to to, the latter excluded, using that many keys in turn.
func count(m *usage.Meter, active, from, to int) {
	now := time.Now()
	for i := from; i < to; i++ {
		key := i % active
		tenant := int64(key/keysPerTenant) + 1 // fillKeys gives each tenant one assignment, numbered like the tenants.
		bucket := usage.Bucket{TenantID: tenant, KeyID: keyIDs[key], Assignment: tenant, Version: 1}
		m.Admitted(bucket, now, now.Unix()/60, usage.Unlimited)
	}
}

// keyIDs are the IDs that fillKeys uses.
var keyIDs = func() (ids [mostKeys]string) {
	for i := range ids {
		ids[i] = keyID(i)
	}
	return ids
}()

// countingStore counts the written rows.
type countingStore struct {
	billing.Usage
	batches, rows atomic.Int64
}

// WriteUsage implements usage.Store.
func (s *countingStore) WriteUsage(ctx context.Context, b usage.Batch) error {
	s.batches.Add(1)
	s.rows.Add(int64(len(b.Counts)))
	return s.Usage.WriteUsage(ctx, b)
}
