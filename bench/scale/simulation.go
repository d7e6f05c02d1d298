package main

import (
	"context"
	"fmt"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage"
)

const (
	simulatedDays    = 90
	simulationRounds = 3
	// maxSimulation bounds the seconds of a simulation of all tenants.
	maxSimulation = 10
)

// The numbers to simulate: usual ones, and such that every hour of every tenant is over the
// per-minute limit.
var (
	usualNumbers    = plans.Quota{PerMinute: 300, PerDay: 10_000}
	smallestNumbers = plans.Quota{PerMinute: 1, PerDay: 1440}
)

func simulations(ctx context.Context, e *env) *table {
	t := &table{
		title: "Simulating a price list",
		about: fmt.Sprintf(
			"What `petstorectl plan edit --dry-run` does: the usage of all tenants is replayed under other numbers. "+
				"Each tenant has sent requests in every hour of %d days with one key, from 60 to some 5,000 an hour. ",
			simulatedDays,
		) +
			fmt.Sprintf(
				"*Usual* are %d requests per minute and %s per day. *Smallest* is %d per minute: every hour must be "+
					"looked at. Medians of %d rounds, with two connections.",
				usualNumbers.PerMinute,
				withCommas(usualNumbers.PerDay),
				smallestNumbers.PerMinute,
				simulationRounds,
			),
		head: []string{"tenants", "rows", "usual s", "tenants refused more", "smallest s"},
	}
	var largest time.Duration
	for _, n := range e.upTo(100, 1_000, 10_000) {
		url := e.database(ctx, "simulation", n)
		fillUsage(ctx, url, n)
		db := must.Get(store.Open(ctx, url, store.Options{MaxConns: 2}))
		e.Cleanup(func(context.Context) error { return db.Close() })
		e.logf("simulating")
		usual, affected := simulate(ctx, db, usualNumbers)
		smallest, _ := simulate(ctx, db, smallestNumbers)
		largest = usual
		t.add(
			withCommas(int64(n)),
			withCommas(int64(n*simulatedDays*24)),
			significant(usual.Seconds()),
			withCommas(int64(affected)),
			significant(smallest.Seconds()),
		)
	}
	t.bound("s for the most tenants, usual numbers", largest.Seconds(), maxSimulation)
	return t
}

// simulationEnd is the end of the last of the days.
var simulationEnd = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// simulate returns the median of the times of a simulation, and of how many tenants more would have
// been refused.
func simulate(ctx context.Context, db *store.DB, q plans.Quota) (took time.Duration, affected int) {
	var all []time.Duration
	for range simulationRounds {
		start := time.Now()
		replay := usage.NewTenantsReplay(q.PerMinute, q.PerDay)
		query := billing.DaysQuery{
			From:  simulationEnd.AddDate(0, 0, -simulatedDays),
			To:    simulationEnd,
			Quiet: usage.QuietHour(q.PerMinute),
		}
		must.Do(db.Usage.EachDay(ctx, query, replay.Add))
		affected = len(replay.Affected())
		all = append(all, time.Since(start))
	}
	return median(all), affected
}

// fillUsage inserts the usage of n tenants in the order of time, as servers do.
func fillUsage(ctx context.Context, url string, n int) {
	fillKeys(ctx, url, n, 1)
	must.Do(servers.Exec(ctx, url,
		// Without the triggers of foreign keys, of which each would look up every row. Indexes are
		// made faster afterwards.
		`set session_replication_role = replica;
		set maintenance_work_mem = '1GB';
		alter table usage_hourly drop constraint usage_hourly_pkey;
		drop index usage_hourly_by_hour`,
		fmt.Sprintf(`
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select a.tenant_id, h, 'key_' || lpad((a.tenant_id - 1)::text, 16, '0'), a.id, 1,
		       (exp(a.tenant_id %% 97 / 97.0 * 4) * (60 + extract(hour from h at time zone 'UTC') %% 8 * 5))::bigint, 0
		from generate_series(timestamptz '%[1]s' - interval '%[2]d days', timestamptz '%[1]s' - interval '1 hour',
			'1 hour') h
		cross join (select tenant_id, id from tenant_plans order by tenant_id) a`, simulationEnd.Format(time.RFC3339),
			simulatedDays),
		`alter table usage_hourly add primary key (tenant_id, hour, key_id, assignment, version);
		create index usage_hourly_by_hour on usage_hourly (hour, tenant_id)`,
		`vacuum analyze usage_hourly`))
}
