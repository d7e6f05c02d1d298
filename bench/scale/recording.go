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
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

const (
	recordingTime = 8 * time.Second
	// maxRecordingGrowth is how many times PostgreSQL's work may grow while the requests grow ten or a hundred times.
	maxRecordingGrowth = 1.5
	// maxRecordingSlack is for a write at the end that comes early.
	maxRecordingSlack = 1.1
)

func recording(ctx context.Context, g *ground) (t *table, err error) {
	t = &table{
		title: "Recording usage",
		about: fmt.Sprintf("Requests are counted in memory and written twice a second, a row for each key that called. For %v each: requests a second over so many active keys, what "+
			"that writes, and PostgreSQL's processor time for it.", recordingTime),
		head: []string{"active keys", "requests/s", "batches/s", "rows/s", "PostgreSQL ms/s"},
	}
	url, err := g.postgres.CreateDatabase(ctx, "usage")
	if err != nil {
		return nil, err
	}
	if err := fillKeys(ctx, url, 10_000, keysOfTenant); err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, keys := range g.upTo(100, 1_000, 10_000) {
		var rows, work []float64
		for _, rate := range []int{10_000, 100_000, 1_000_000} {
			if rate < 10*keys {
				continue // not every key would call between two writes
			}
			c, err := record(ctx, g, db, keys, rate)
			if err != nil {
				return nil, err
			}
			rows, work = append(rows, c.rows), append(work, c.millis)
			t.add(grouped(int64(keys)), grouped(int64(c.requests)), figure(c.batches), figure(c.rows), figure(c.millis))
		}
		t.bound("rows a second of "+grouped(int64(keys))+" keys", slices.Max(rows), 2*float64(keys)*maxRecordingSlack)
		if keys >= 1_000 { // less is below the clock's resolution
			t.growth("PostgreSQL's time for "+grouped(int64(keys))+" keys", work, maxRecordingGrowth)
		}
	}
	return t, err
}

// cost is per second.
type cost struct{ requests, batches, rows, millis float64 }

// record counts requests at a rate for a while, with one meter as a server has it, and returns what it cost.
func record(ctx context.Context, g *ground, db *store.DB, keys, rate int) (c cost, err error) {
	counted := &countingStore{Usage: db.Usage}
	meter := usage.NewMeter(counted, usage.Options{ServerID: fmt.Sprintf("%d-%d", keys, rate), Log: zerolog.Nop()})
	count(meter, keys, 0, keys) // the first use of every key is written before it is measured
	if err := meter.Flush(ctx); err != nil {
		return c, err
	}
	counted.batches.Store(0)
	counted.rows.Store(0)
	before, err := cputime.OfTrees(g.postgres.PID())
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
	after, err := cputime.OfTrees(g.postgres.PID())
	seconds := time.Since(start).Seconds()
	return cost{
		requests: float64(requests) / seconds, batches: float64(counted.batches.Load()) / seconds, rows: float64(counted.rows.Load()) / seconds,
		millis: (after[0] - before[0]).Seconds() * 1e3 / seconds,
	}, errors.Join(err, failed)
}

// count counts the requests of those numbers, over the keys in turn.
func count(m *usage.Meter, keys, from, to int) {
	now := time.Now()
	for i := from; i < to; i++ {
		m.Admitted(int64(i%keys/keysOfTenant)+1, keyIDs[i%keys], plans.Business, now)
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
