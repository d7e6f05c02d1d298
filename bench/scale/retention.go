package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/audit"
	"petstore.example/internal/store"
	"petstore.example/internal/store/operate"
	"petstore.example/internal/usage"
)

const (
	// rolledHours is how many hours the month has, of one key of each tenant.
	rolledHours = 30 * 24
	// rolledBatch is how many hours a server sums in a transaction.
	rolledBatch = 20_000
	// maxRecording bounds how many milliseconds a batch of usage waits while hours are summed, and
	// while they are dropped.
	maxRecording = 500
)

// rolledMonth is closed, and older than hours are kept.
var rolledMonth = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func retention(ctx context.Context, e *env) *table {
	t := &table{
		title: "Summing hours into days",
		about: fmt.Sprintf(
			"What servers do with the hours of a closed month once they are old: sum them into days, prove that "+
				"they are those that were sealed, and drop them. Each tenant has one key with requests in all %d "+
				"hours of the month. ",
			rolledHours,
		) +
			fmt.Sprintf(
				"Batches of %s hours, here without rests between them. *Recorded meanwhile* is the slowest of the "+
					"batches of usage that were recorded every 50 ms, also while the hours were dropped. *Sealing* "+
					"is `usage close`.",
				withCommas(rolledBatch),
			),
		head: []string{
			"rows of hours",
			"MB",
			"sealing s",
			"summing s",
			"rows a second",
			"median batch ms",
			"longest batch ms",
			"exchange s",
			"recorded meanwhile, longest ms",
			"rows of days",
			"MB after",
		},
	}
	sizes := []int{e.usageRows}
	if e.usageRows >= 1_000_000 {
		sizes = []int{e.usageRows / 10, e.usageRows}
	}
	var r rolled
	for _, rows := range sizes {
		r = rollUp(ctx, e, rows)
		t.add(
			withCommas(r.hours),
			significant(r.megabytes),
			significant(r.sealing.Seconds()),
			significant(r.summing.Seconds()),
			withCommas(int64(float64(r.hours)/r.summing.Seconds())),
			millis(median(r.batches)),
			millis(slices.Max(r.batches)),
			significant(r.exchange.Seconds()),
			millis(r.recorded),
			withCommas(r.days),
			significant(r.megabytesAfter),
		)
	}
	t.bound("recorded meanwhile, longest ms, of the most rows", r.recorded.Seconds()*1000, maxRecording)
	return t
}

// rolled is what was measured.
type rolled struct {
	hours, days                          int64
	megabytes, megabytesAfter            float64
	sealing, summing, exchange, recorded time.Duration
	batches                              []time.Duration
}

func rollUp(ctx context.Context, e *env, rows int) (r rolled) {
	url := e.database(ctx, "retention", rows)
	tenants := max(1, rows/rolledHours)
	r.hours = int64(tenants * rolledHours)
	fillMonth(ctx, url, tenants)
	owner := must.Get(store.Open(ctx, url, store.Options{MaxConns: 2, Timeout: time.Hour}))
	e.Cleanup(func(context.Context) error { return owner.Close() })
	e.logf("sealing")
	start := time.Now()
	must.Get(owner.Months.Close(ctx, audit.By{Actor: "bench"}, rolledMonth, nil))
	r.sealing = time.Since(start)
	size := func(table string) float64 {
		return must.Get(
			servers.Value[float64](
				ctx,
				url,
				`select coalesce(sum(pg_total_relation_size(relid)), 0) / 1e6 from pg_partition_tree($1)`,
				table,
			),
		)
	}
	r.megabytes = size("usage_hourly")
	e.logf("summing")
	must.Do(r.sum(ctx, url))
	r.megabytesAfter = size("usage_daily")
	r.days = must.Get(servers.Value[int64](ctx, url, `select count(*) from usage_daily`))
	if hours := must.Get(
		servers.Value[int64](ctx, url, `select hours from usage_partitions where rolled_at is not null`),
	); hours != r.hours {
		must.Do(fmt.Errorf("%d hours were summed, want %d", hours, r.hours))
	}
	return r
}

// sum works as a server does, while another connection records usage.
func (r *rolled) sum(ctx context.Context, url string) (err error) {
	db, err := store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 2, Timeout: time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	recording, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.record(recording, db) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	for begin := time.Now(); ; {
		start := time.Now()
		n, more, err := db.Retention.Prune(ctx, operate.RetentionUsage, rolledBatch)
		if err != nil || !more {
			return err
		}
		if n == 0 {
			r.exchange = time.Since(start)
			continue
		}
		r.batches = append(r.batches, time.Since(start))
		r.summing = time.Since(begin)
	}
}

// record writes a batch of usage every 50 ms, and remembers the slowest.
func (r *rolled) record(ctx context.Context, db *store.DB) error {
	for number := int64(1); ; number++ {
		hour := time.Now().Truncate(time.Hour).Unix()
		b := usage.Batch{ServerID: "bench", Number: number, Counts: []usage.Count{{
			Bucket: usage.Bucket{TenantID: 1, KeyID: keyID(0), Assignment: 1, Version: 1, Hour: hour}, Admitted: 1,
		}}}
		start := time.Now()
		if err := db.Usage.WriteUsage(context.WithoutCancel(ctx), b); err != nil {
			return err
		}
		r.recorded = max(r.recorded, time.Since(start))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// fillMonth makes the month a partition of its own, and fills it.
func fillMonth(ctx context.Context, url string, tenants int) {
	fillKeys(ctx, url, tenants, 1)
	must.Do(servers.Exec(ctx, url, `
		set maintenance_work_mem = '1GB';
		alter table usage_hourly detach partition usage_hourly_default;
		do $$
		declare
		  first text := (select name from usage_partitions where begins is null);
		begin
		  execute format('alter table usage_hourly detach partition %I', first);
		  execute format('alter table usage_hourly attach partition %I for values from (minvalue)
		    to (''2026-07-01Z'')', first);
		end $$;
		alter table usage_hourly attach partition usage_hourly_default default;
		update usage_partitions set ends = '2026-07-01Z' where begins is null;
		update retention set begins_at = now() - interval '1 hour', keep = least(keep, now() - '2026-07-02Z') where
			kind = 'hourly_usage'`,
		fmt.Sprintf(`
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select a.tenant_id, h, 'key_' || lpad((a.tenant_id - 1)::text, 16, '0'), a.id, 1, 100 + a.tenant_id %% 97,
			extract(hour from h)::bigint
		from generate_series('2026-06-01Z'::timestamptz, '2026-06-01Z'::timestamptz + interval '%d hours', '1 hour') h
		cross join (select tenant_id, id from tenant_plans order by tenant_id) a`, rolledHours-1),
		`vacuum analyze usage_hourly`))
}
