package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/bench/cputime"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

const (
	recordingTime = 8 * time.Second
	// maxRecordingGrowth bounds the growth of PostgreSQL's work when the requests grow tenfold or a hundredfold.
	maxRecordingGrowth = 1.5
	// maxRecordingSlack allows for an early last write.
	maxRecordingSlack = 1.1
)

func recording(ctx context.Context, e *env) (t *table, err error) {
	t = &table{
		title: "Recording usage",
		about: fmt.Sprintf("Requests are counted in memory and written twice a second, one row per key that sent requests. Each row is one run of %v: the number of active keys and the request rate, "+
			"what is written, and PostgreSQL's CPU time for it.", recordingTime),
		head: []string{"active keys", "requests/s", "batches/s", "rows/s", "PostgreSQL ms/s"},
	}
	url, err := e.postgres.CreateDatabase(ctx, "usage")
	if err != nil {
		return nil, err
	}
	if err := fillKeys(ctx, url, 10_000, keysPerTenant); err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, keys := range e.upTo(100, 1_000, 10_000) {
		var rows, work []float64
		for _, rate := range []int{10_000, 100_000, 1_000_000} {
			if rate < 10*keys {
				continue // not every key would be used between two writes
			}
			c, err := record(ctx, e, db, keys, rate)
			if err != nil {
				return nil, err
			}
			rows, work = append(rows, c.rows), append(work, c.millis)
			t.add(withCommas(int64(keys)), withCommas(int64(c.requests)), significant(c.batches), significant(c.rows), significant(c.millis))
		}
		t.bound("rows per second of "+withCommas(int64(keys))+" keys", slices.Max(rows), 2*float64(keys)*maxRecordingSlack)
		if keys >= 1_000 { // less is below the resolution of the clock
			t.growth("PostgreSQL's time for "+withCommas(int64(keys))+" keys", work, maxRecordingGrowth)
		}
	}
	return t, err
}

// cost has figures per second.
type cost struct{ requests, batches, rows, millis float64 }

// record counts requests at a rate during recordingTime, with one meter as in a server, and returns the cost.
func record(ctx context.Context, e *env, db *store.DB, keys, rate int) (c cost, err error) {
	counted := &countingStore{Usage: db.Usage}
	meter := usage.NewMeter(counted, usage.Options{ServerID: fmt.Sprintf("%d-%d", keys, rate), Log: zerolog.Nop()})
	count(meter, keys, 0, keys) // writes the first use of every key before the measurement
	if err := meter.Flush(ctx); err != nil {
		return c, err
	}
	counted.batches.Store(0)
	counted.rows.Store(0)
	before, err := cputime.OfTrees(e.postgres.PID())
	if err != nil {
		return c, err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var failed error
	running.Go(func() { failed = meter.Run(ctx) })
	start := time.Now()
	requests := 0
	for elapsed := time.Duration(0); elapsed < recordingTime; elapsed = time.Since(start) {
		due := int(elapsed.Seconds() * float64(rate))
		count(meter, keys, requests, due)
		requests = due
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	running.Wait()
	after, err := cputime.OfTrees(e.postgres.PID())
	seconds := time.Since(start).Seconds()
	return cost{
		requests: float64(requests) / seconds, batches: float64(counted.batches.Load()) / seconds, rows: float64(counted.rows.Load()) / seconds,
		millis: (after[0] - before[0]).Seconds() * 1e3 / seconds,
	}, errors.Join(err, failed)
}

// count counts requests from to to, with the keys in turn.
func count(m *usage.Meter, keys, from, to int) {
	now := time.Now()
	for i := from; i < to; i++ {
		tenant := int64(i%keys/keysPerTenant) + 1
		// fillKeys gives each tenant one assignment, in their order.
		m.Admitted(usage.Bucket{TenantID: tenant, KeyID: keyIDs[i%keys], Assignment: tenant, Version: 1}, now, now.Unix()/60, usage.Unlimited)
	}
}

// keyIDs are those of fillKeys.
var keyIDs = func() (ids [10_000]string) {
	for i := range ids {
		ids[i] = keyID(i)
	}
	return ids
}()

// countingStore counts what is written.
type countingStore struct {
	store.Usage
	batches, rows atomic.Int64
}

// WriteUsage implements usage.Store.
func (s *countingStore) WriteUsage(ctx context.Context, b usage.Batch) error {
	s.batches.Add(1)
	s.rows.Add(int64(len(b.Counts)))
	return s.Usage.WriteUsage(ctx, b)
}
