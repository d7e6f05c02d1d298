package main

import (
	"context"
	"fmt"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/usage"
)

// maxRequests bounds the milliseconds of a read of failed requests.
const maxRequests = 100

var requestRounds = rounds{count: 9, perConnection: 3, warmUp: 5, operations: 20}

// requestPages are the pages that are measured, at most as large as the API's.
var requestPages = []struct {
	name string
	page usage.FailedPage
}{
	{"newest ms", usage.FailedPage{}},
	{"of a key ms", usage.FailedPage{KeyID: "key_1"}},
	{
		"of a rare code ms",
		usage.FailedPage{
			Kinds: []usage.FailedKind{{Status: 500, Code: "internal_error"}, {Status: 499, Code: "internal_error"}},
		},
	},
	{
		"of a rare status ms",
		usage.FailedPage{
			Kinds: []usage.FailedKind{
				{Status: 499, Code: "rate_limit_exceeded"},
				{Status: 499, Code: "pet_not_found"},
				{Status: 499, Code: "internal_error"},
			},
		},
	},
}

func failedRequests(ctx context.Context, e *env) *table {
	t := &table{
		title: "Failed requests of a tenant",
		about: "What `GET /v1/requests` reads: a page of 100, and one request with the use of its window and the " +
			"tenant's hours of 30 days. The tenant has a tenth of all failed requests, " +
			"of as many keys as that takes, and usage of 10 keys in each hour. One of it in 1,000 is *of a rare " +
			"code*, and one in 10,000 *of a rare status*. " +
			fmt.Sprintf(
				"The figures are medians of %d rounds of %d reads. Their indexes: failed_requests_by_tenant, "+
					"by_key, by_kind, by_kind, by_request with usage_hourly_pkey.",
				requestRounds.count,
				requestRounds.operations,
			),
		head: []string{"failed requests", "table and indexes MB"},
	}
	for _, p := range requestPages {
		t.head = append(t.head, p.name)
	}
	t.head = append(t.head, "explained ms")
	for _, n := range e.upTo(1_000, 1_000_000, 10_000_000) {
		s := newFailedRequests(ctx, e, n)
		requestRounds.measure([]*sample{s})
		t.addSamples([]*sample{s}, time.Millisecond, 1, t.head[2:]...)
		t.verdicts = nil
		for k, took := range s.took {
			t.bound(t.head[2+k]+" of the largest", float64(median(took))/float64(time.Millisecond), maxRequests)
		}
	}
	return t
}

// newFailedRequests makes n failed requests of 1,000 tenants in a database of its own, a tenth of
// them of one tenant.
func newFailedRequests(ctx context.Context, e *env, n int) *sample {
	url := e.database(ctx, "requests", n)
	staff := must.Get(store.Open(ctx, url, store.Options{MaxConns: 1}))
	defer staff.Close()
	tenant := must.Get(staff.Tenants.Create(ctx, by, people.NewTenant{Name: "large", Plan: plans.Free}, time.Time{})).ID
	must.Do(servers.Exec(ctx, url,
		"set session_replication_role = replica",
		fmt.Sprintf(`
		insert into failed_requests (tenant_id, server_id, number, key_id, at, took_micros, request_id, status, code,
			reason, plan, limited_by,
		                             allowed, resets_at, partial, method, route, suppressed)
		select case when i %% 10 = 0 then %[1]d else %[1]d + 1 + i %% 999 end, 's', i, 'key_' || i / 10 %% (1 + %[2]d
			/ 24000), now() - interval '23 hours' * (i * 7919 %% %[2]d) / %[2]d,
		       250, 'r-' || i, case when i %% 100000 = 10 then 499 when i %% 10000 = 10 then 500 when i %% 5 = 0 then
		           404 else 429 end,
		       case when i %% 10000 = 10 then 'internal_error' when i %% 5 = 0 then 'pet_not_found' else
		           'rate_limit_exceeded' end,
		       '', 'free', 'minute', 60, now(), false, 'GET', '/v1/pets', 0
		from generate_series(1::bigint, %[2]d) i`, tenant, n),
		fmt.Sprintf(`
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select %d, date_trunc('hour', now(), 'UTC') - interval '1 hour' * h, 'key_' || k, 1, 1, 100 * k, h %% 7 from
			generate_series(0, 719) h, generate_series(0, 9) k`, tenant),
		"vacuum analyze failed_requests, usage_hourly", "checkpoint"))
	size := must.Get(servers.Value[float64](ctx, url, "select pg_total_relation_size('failed_requests') / 1e6"))
	return &sample{
		n:     n,
		cells: []string{significant(size)},
		connect: func() (kinds []func() time.Duration, leave func()) {
			db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
			now, number := time.Now(), int64(0)
			for _, p := range requestPages {
				kinds = append(kinds, func() time.Duration {
					page, start := p.page, time.Now()
					page.Since, page.Until, page.Limit = now.AddDate(0, 0, -1), now, 100
					must.Get(firstOf(db.FailedRequests.ListFailed(ctx, tenant, page)))
					return time.Since(start)
				})
			}
			return append(kinds, func() time.Duration {
				start := time.Now()
				number = number%int64(n/10) + 1
				must.Get(
					db.FailedRequests.GetFailed(
						ctx,
						tenant,
						fmt.Sprintf("r-%d", 10*number),
						now.AddDate(0, 0, -1),
						now,
					),
				)
				return time.Since(start)
			}), func() { must.Do(db.Close()) }
		},
	}
}
