package server

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/connlimit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/pgconn"
)

const (
	// reportEvery is how often a server looks for faults of its own, and at changes of bans.
	reportEvery = 5 * time.Second
	// repeatEvery is how often it repeats a report, because its row may have been removed
	// meanwhile.
	repeatEvery = time.Minute
)

// reporter tells staff about faults of this server (petstorectl doctor), and reads counts of the
// whole fleet.
type reporter struct {
	operation admin.Operation
	health    *health
	api       *connlimit.Listener
	// keys is the environment of the keys that this server accepts.
	keys keys.Environment

	noted   []string
	notedAt time.Time
	// refused is the number of refused connections at the last look.
	refused int64
	// number is the number of the last audit entry that was counted. Before the first look, which
	// counts none, it is above all others.
	number                    int64
	byServer, byStaff, lifted atomic.Int64
	// deliveredAgo is the last result of admin.Operation.DeliveredAgo.
	deliveredAgo atomic.Int64
}

// newReporter returns the reporter of a server with that listener, and registers metrics of what it
// reads.
func newReporter(h *health, api *connlimit.Listener, of keys.Environment, m prometheus.Registerer) *reporter {
	r := &reporter{operation: h.operation, health: h, api: api, keys: of, number: math.MaxInt64}
	const changes, help = "petstore_ban_changes_total",
		"Bans that were placed and lifted in the whole fleet since the start of this server, by change and origin."
	values{m}.counter(changes, help, prometheus.Labels{"change": "placed", "by": "server"}, r.byServer.Load)
	values{m}.counter(changes, help, prometheus.Labels{"change": "placed", "by": "staff"}, r.byStaff.Load)
	values{m}.counter(changes, help, prometheus.Labels{"change": "lifted", "by": "staff"}, r.lifted.Load)
	values{m}.gauge(
		"petstore_usage_undelivered_age_seconds",
		"How long ago the server of the fleet delivered its usage that has delivered none for the longest.",
		nil,
		func() float64 { return time.Duration(r.deliveredAgo.Load()).Seconds() },
	)
	return r
}

// run looks for faults until ctx ends. After a failure it tries again. It does not report the
// failure: staff hear of an outage of Postgres elsewhere.
func (r *reporter) run(ctx context.Context) error {
	r.noteEnvironment(ctx)
	return every(ctx, reportEvery, func() {
		r.noteEnvironment(ctx)
		r.report(ctx)
		r.countBans(ctx)
		if ago, err := r.operation.DeliveredAgo(ctx); err == nil {
			r.deliveredAgo.Store(int64(ago))
		}
	})
}

// noteEnvironment tells petstorectl which environment new keys are for. A server that accepts all
// keys is "petstore dev", whose first key is a live one.
func (r *reporter) noteEnvironment(ctx context.Context) {
	of := r.keys
	if of == keys.AnyEnvironment {
		of = keys.Live
	}
	_ = r.operation.SetEnvironment(ctx, r.health.member.ID(), string(of))
}

// report reports changes, and repeats them after a while.
func (r *reporter) report(ctx context.Context) {
	found := r.found()
	if slices.Equal(found, r.noted) && (len(found) == 0 || time.Since(r.notedAt) < repeatEvery) {
		return
	}
	if r.operation.SetReports(ctx, r.health.member.ID(), found) == nil {
		r.noted, r.notedAt = found, time.Now()
	}
}

// found returns the names of this server's faults, except those that the database shows by itself.
func (r *reporter) found() (all []string) {
	if r.health.limiter.state() == "cut_off" {
		all = append(all, "redis")
	}
	if !r.health.directory.FeedHealthy() {
		all = append(all, "change_feed")
	}
	if r.health.diskFull() {
		all = append(all, pgconn.DiskFull)
	}
	before := r.refused
	if r.refused = r.api.Stats().Refused[connlimit.TotalReached]; r.refused > before {
		all = append(all, "connections")
	}
	for _, check := range startChecks {
		if r.health.found[check] != "" {
			all = append(all, check)
		}
	}
	return all
}

func (r *reporter) countBans(ctx context.Context) {
	c, err := r.operation.CountBans(ctx, r.number)
	if err != nil {
		return
	}
	r.byServer.Add(c.ByServer)
	r.byStaff.Add(c.ByStaff)
	r.lifted.Add(c.Lifted)
	r.number = c.Number
}
