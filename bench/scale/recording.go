package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/must"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage"
)

const (
	recordingTime = 8 * time.Second
	// maxRecordingGrowth bounds the growth of PostgreSQL's work when the requests grow tenfold or a
	// hundredfold.
	maxRecordingGrowth = 1.5
	// maxRecordingSlack allows for an early last write.
	maxRecordingSlack = 1.1
)

func recording(ctx context.Context, e *env) *table {
	t := &table{
		title: "Recording usage",
		about: fmt.Sprintf(
			"Requests are counted in memory and written twice a second, one row per key that sent requests. Each "+
				"row is one run of %v: the number of active keys and the request rate, "+
				"what is written, and PostgreSQL's CPU time for it.",
			recordingTime,
		),
		head: []string{"active keys", "requests/s", "batches/s", "rows/s", "PostgreSQL ms/s"},
	}
	const most = 10_000
	url := e.database(ctx, "usage", most)
	fillKeys(ctx, url, most, keysPerTenant)
	ids := make([]string, most)
	for i := range ids {
		ids[i] = keyID(i)
	}
	db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
	e.Cleanup(func(context.Context) error { return db.Close() })
	for _, n := range e.upTo(100, 1_000, most) {
		var rows, work []float64
		for _, rate := range []int{10_000, 100_000, 1_000_000} {
			if rate < 10*n {
				continue // not every key would be used between two writes
			}
			c := record(ctx, e, db, ids[:n], rate)
			rows, work = append(rows, c.rows), append(work, c.millis)
			t.add(
				withCommas(int64(n)),
				withCommas(int64(c.requests)),
				significant(c.batches),
				significant(c.rows),
				significant(c.millis),
			)
		}
		t.bound("rows per second of "+withCommas(int64(n))+" keys", slices.Max(rows), 2*float64(n)*maxRecordingSlack)
		if n >= 1_000 { // less is below the resolution of the clock
			t.growth("PostgreSQL's time for "+withCommas(int64(n))+" keys", work, maxRecordingGrowth)
		}
	}
	return t
}

// cost has figures per second.
type cost struct{ requests, batches, rows, millis float64 }

// record counts requests at a rate during recordingTime, with one meter as in a server, and returns
// the cost.
func record(ctx context.Context, e *env, db *store.DB, ids []string, rate int) cost {
	counted := &countingStore{Usage: db.Usage}
	meter := usage.NewMeter(counted, usage.Options{ServerID: fmt.Sprintf("%d-%d", len(ids), rate), Log: zerolog.Nop()})
	count(meter, ids, 0, len(ids)) // writes the first use of every key before the measurement
	must.Do(meter.Flush(ctx))
	counted.batches.Store(0)
	counted.rows.Store(0)
	before := must.Get(e.postgres.CPU())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running errgroup.Group
	running.Go(func() error { return meter.Run(ctx) })
	start := time.Now()
	requests := 0
	for elapsed := time.Duration(0); elapsed < recordingTime; elapsed = time.Since(start) {
		due := int(elapsed.Seconds() * float64(rate))
		count(meter, ids, requests, due)
		requests = due
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	must.Do(running.Wait())
	took := must.Get(e.postgres.CPU()) - before
	seconds := time.Since(start).Seconds()
	return cost{
		requests: float64(requests) / seconds,
		batches:  float64(counted.batches.Load()) / seconds,
		rows:     float64(counted.rows.Load()) / seconds,
		millis:   took.Seconds() * 1e3 / seconds,
	}
}

// count counts requests from to to, with the keys in turn.
func count(m *usage.Meter, ids []string, from, to int) {
	now := time.Now()
	for i := from; i < to; i++ {
		tenant := int64(i%len(ids)/keysPerTenant) + 1
		// fillKeys gives each tenant one assignment, in their order.
		m.Admitted(
			usage.Bucket{TenantID: tenant, KeyID: ids[i%len(ids)], Assignment: tenant, Version: 1},
			now,
			now.Unix()/60,
			usage.Unlimited,
		)
	}
}

// countingStore counts what is written.
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
