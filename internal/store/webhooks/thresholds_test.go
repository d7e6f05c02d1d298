package webhooks_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage"
)

// ledger is a box whose tenant acme uses its limits.
type ledger struct {
	box
	key   string
	batch *atomic.Int64
}

// The first hours of simulated days.
var (
	first  = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	second = first.AddDate(0, 0, 1)
	third  = first.AddDate(0, 0, 2)
)

func newLedger(t *testing.T) ledger {
	t.Helper()
	b := newBox(t)
	key, _ := b.Issue(t, "acme")
	return ledger{b, key.ID, &atomic.Int64{}}
}

// newTold returns a ledger whose owner is told of thresholds.
func newTold(t *testing.T) ledger {
	t.Helper()
	l := newLedger(t)
	l.enabled(t, "quota.threshold_reached")
	return l
}

// quota sets the limits from now on: per day, and what a month includes and its overage, "" for no
// month.
func (l ledger) quota(t *testing.T, perDay int64, month, overage string) {
	t.Helper()
	l.Exec(t, `
		insert into tenant_plans (tenant_id, plan, kind, per_day, month, per_month, overage, overage_value)
		select $1, 'pro', 'boost', $2, case when $3 <> '' then 'some' end, nullif($3, '')::bigint,
		       case when $3 <> '' then case when $4 ~ '[0-9]' then 'number' else $4 end end,
		       case when $4 ~ '[0-9]' then $4::bigint end`, l.acme.ID, perDay, month, overage)
}

// add is what a batch of usage adds with a key in an hour, under the quota in force.
func (l ledger) add(t *testing.T, key string, at time.Time, admitted, refused int64) usage.Batch {
	t.Helper()
	var q struct {
		Assignment int64
		Version    int
	}
	assert.NoError(t, l.Owner.Get(&q, `
		select assignment, version from quota_periods
		where tenant_id = $1 and valid_from <= now() and (valid_to > now()) is not false`, l.acme.ID))
	c := fixture.Count(l.acme.ID, key, at, admitted, refused)
	c.Assignment, c.Version = q.Assignment, q.Version
	return usage.Batch{ServerID: "s1", Number: l.batch.Add(1), Counts: []usage.Count{c}}
}

// record records usage of one server.
func (l ledger) record(t *testing.T, at time.Time, admitted int64) {
	t.Helper()
	fixture.WriteUsage(t, l.API, l.add(t, l.key, at, admitted, 1))
}

// wants checks which thresholds were told since the last call, in order.
func (l ledger) wants(t *testing.T, want, what string) {
	t.Helper()
	assert.Equal(t, l.Text(t, `
		with v as (
		  select d.id, (v.body::json ->> 'data')::json as data from events v join deliveries d on d.event_id = v.id
		  where v.type = 'quota.threshold_reached'
		), gone as (delete from events)
		select coalesce(string_agg(concat(data ->> 'window', ' ', data ->> 'percent', '% of ', data ->> 'limit', ': ',
		  data ->> 'used', case when not (data ->> 'enforced')::boolean then ', no limit' end), '; ' order by id), '')
		from v`), want, what)
}

// TestThresholds: each threshold is told once, by the record that reaches it, the lowest first.
func TestThresholds(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "20", "6")
	for _, step := range []struct {
		at   time.Time
		n    int64
		want string
	}{
		{first, 7, ""},
		{first, 1, "day 80% of 10: 8"},
		{first.Add(time.Hour), 1, ""},
		{first.Add(23 * time.Hour), 1, "day 100% of 10: 10"},
		{first, 0, ""},
		{second, 9, "day 80% of 10: 9; month 80% of 20: 19, no limit"},
		{third, 3, "month 100% of 20: 22, no limit"},
		{first.AddDate(0, 0, 3), 10, "day 80% of 10: 10; day 100% of 10: 10; month 100% of 26: 32"},
		{second, 1, "day 100% of 10: 10"}, // late
		{first.AddDate(0, 1, 0), 1, ""},
	} {
		l.record(t, step.at, step.n)
		l.wants(t, step.want, fmt.Sprint(step.at, " + ", step.n))
	}
	l.record(t, first.AddDate(0, 2, 0), 30)
	l.Want(t, `{"used": 30, "limit": 10, "window": "day", "percent": 80, "enforced": true, `+
		`"resetsAt": "2025-12-02T00:00:00Z"}`,
		`select body::jsonb ->> 'data' from events order by body::jsonb #>> '{data,window}', created_at limit 1`)
	l.wants(t, "day 80% of 10: 30; day 100% of 10: 30; "+
		"month 80% of 20: 30, no limit; month 100% of 20: 30, no limit; month 100% of 26: 30", "all at once")
	l.Want(t, "2025-12-02,2026-01-01", `
		select string_agg(distinct to_char(instant at time zone 'UTC', 'YYYY-MM-DD'), ',') from once
		where instant > '2025-12-01Z'`)
}

// TestThresholdsOfPlans: the limits in force when usage is recorded decide. A limit that is lowered
// is noticed at the next record, another limit has thresholds of its own, no limit has none.
func TestThresholdsOfPlans(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 100, "", "")
	l.record(t, first, 40)
	l.quota(t, 50, "", "")
	l.wants(t, "", "a change alone")
	l.record(t, first, 0)
	l.wants(t, "day 80% of 50: 40", "lowered")
	l.quota(t, 40, "", "")
	l.quota(t, 50, "", "")
	l.record(t, first, 0)
	l.wants(t, "", "back again")
	l.quota(t, 60, "", "")
	l.record(t, first, 10)
	l.wants(t, "day 80% of 60: 50", "raised")

	l.quota(t, 1000, "50", "none")
	l.record(t, second, 50)
	l.wants(t, "month 80% of 50: 50; month 100% of 50: 50", "without overage")
	l.quota(t, 1000, "60", "unlimited")
	l.record(t, second, 50)
	l.wants(t, "month 80% of 60: 100, no limit; month 100% of 60: 100, no limit", "without a limit")
	l.quota(t, 1000, "0", "100")
	l.record(t, second, 0)
	l.wants(t, "month 100% of 100: 100", "nothing included")
}

// TestThresholdsOfALongRecord: a record that waits while the plan changes is judged by the limit in
// force when its turn comes. What was admitted meanwhile was admitted under that.
func TestThresholdsOfALongRecord(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "", "")
	l.record(t, first, 1)
	late := l.add(t, l.key, first, 1, 0).Counts[0]
	tx, err := l.Owner.Beginx()
	assert.NoError(t, err)
	assert.NoError(t, fixture.ErrorOf(tx.Exec(`select now()`)))
	l.quota(t, 25, "", "")
	l.record(t, first, 11)
	_, err = tx.Exec(`
		select add_usage('s2', 1, 0, array[$1::bigint], array[$2::bigint], array[$3], array[$4::bigint], '{1}', '{1}',
		  '{0}', '{0}', '{0}', '{0}', '{}', '{}')`, l.acme.ID, first.Unix(), l.key, late.Assignment)
	assert.NoError(t, err)
	assert.NoError(t, tx.Commit())
	l.wants(t, "", "13 of 25")
}

// TestThresholdsStay: a refund takes no event back, nor has the threshold another one. limits reset
// makes none.
func TestThresholdsStay(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "10", "none")
	now := time.Now()
	l.record(t, now, 9)
	l.wants(t, "day 80% of 10: 9; month 80% of 10: 9", "before")
	l.record(t, now, -5)
	l.record(t, now, 5)
	l.wants(t, "", "a refund, and used again")
	l.Want(t, "9", `select admitted::text from tenant_days`)
	l.record(t, now, -100)
	l.Want(
		t,
		"0 0",
		`select concat(d.admitted, ' ', m.admitted) from tenant_days d join tenant_months m using (tenant_id)`,
	)
	l.record(t, now, 8)
	l.Exec(t, `delete from once`)
	owner := storetest.Open(t, l.URL, store.Options{})
	assert.NoError(t, fixture.ErrorOf(owner.Limits.Reset(t.Context(), fixture.Jo, "acme")))
	l.wants(t, "", "limits reset")
}

// TestLateThresholds: late usage counts to its own window, and that of a closed month to none.
func TestLateThresholds(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "", "")
	l.record(t, second, 5)
	l.record(t, first, 8)
	l.wants(t, "day 80% of 10: 8", "late")
	l.Exec(t, `insert into usage_months (month) values ('2025-10-01')`)
	l.record(t, second, 5)
	l.record(t, third, 10)
	l.wants(t, "", "closed")
	l.Want(t, "2", `select count(*)::text from usage_late where admitted > 0`)
	l.Want(t, "2", `select count(*)::text from tenant_days`)
}

// TestThresholdsFromBefore: the first endpoint is told of what its windows have reached, with the next
// record, and of no other.
func TestThresholdsFromBefore(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.quota(t, 10, "30", "none")
	l.record(t, first, 10)
	l.record(t, second, 6)
	l.Want(t, "0", `select count(*)::text from tenant_days`)
	l.enabled(t, "quota.threshold_reached")
	l.record(t, third, 9)
	l.wants(t, "day 80% of 10: 9; month 80% of 30: 25", "before")
	l.record(t, second, 2)
	l.wants(t, "day 80% of 10: 8", "late")
	l.Exec(t, `select prune_outbox(10000, 100000)`)
	l.Want(t, "0", `select count(*)::text from tenant_days`)
	l.record(t, second, 1)
	l.wants(t, "", "pruned")
	l.Want(t, "9", `select admitted::text from tenant_days`)
}

// TestRefusals: a window that refuses has reached its thresholds, although less is recorded.
func TestRefusals(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "20", "5")
	l.record(t, first, 3)
	for range 2 {
		assert.NoError(t, l.API.Usage.TellRefusals(t.Context(), []usage.Refusal{
			{TenantID: l.acme.ID, Window: "month", Limit: 25, Reset: first.AddDate(0, 1, 0).Unix()},
			{TenantID: l.acme.ID, Window: "day", Limit: 10, Reset: second.Unix()},
			{TenantID: l.acme.ID + 7, Window: "day", Limit: 10, Reset: second.Unix()},
		}))
	}
	l.wants(t, "day 80% of 10: 10; day 100% of 10: 10; month 80% of 20: 25, no limit; "+
		"month 100% of 20: 25, no limit; month 100% of 25: 25", "refused")
	l.record(t, first, 30)
	l.wants(t, "", "recorded")
}

// halves records half of a day on each of two servers, with a key each, so that the second finds the
// first not committed yet. It reports whether the second waits for it.
func (l ledger) halves(t *testing.T, day time.Time) (waits bool) {
	t.Helper()
	other, _ := l.Issue(t, "acme")
	l.news(t)
	tx, err := l.Owner.Beginx()
	assert.NoError(t, err)
	_, err = tx.Exec(`
		select add_usage('s2', $1, 0, array[$2::bigint], array[$3::bigint], array[$4], array[$5::bigint], '{1}', '{5}',
		  '{0}', '{0}', '{0}', '{0}', '{}', '{}')`,
		l.batch.Add(1), l.acme.ID, day.Unix(), other.ID, l.add(t, l.key, day, 0, 0).Counts[0].Assignment)
	assert.NoError(t, err)
	batch := l.add(t, l.key, day, 5, 0)
	api := storetest.Open(t, l.APIURL, store.Options{AsAPI: true, Timeout: fixture.LongTimeout})
	done := make(chan error, 1)
	go func() { done <- api.Usage.WriteUsage(t.Context(), batch) }()
	wait.Until(t, "the second", func() bool {
		waits = l.Text(t, `select count(*)::text from pg_stat_activity where datname = current_database()
			and wait_event_type = 'Lock'`) == "1"
		return waits || len(done) > 0
	})
	assert.NoError(t, tx.Commit())
	assert.NoError(t, <-done)
	return waits
}

// TestThresholdsOfTwoServers: what two servers record at the same time, with a key each, reaches a
// threshold that neither reaches alone. A sum of what is recorded, without the lock of the total,
// misses it.
func TestThresholdsOfTwoServers(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "", "")
	for _, day := range []time.Time{first, second} {
		l.record(t, day, 1) // makes the row, and
		// The next record sums it anew once no transaction that is older than the row runs, in this or
		// another database; from then on it is counted.
		wait.Until(t, "counted", func() bool {
			l.record(t, day, 0)
			return l.Text(t, `select bool_and(begun is null)::text from tenant_days`) == "true"
		})
		assert.True(t, l.halves(t, day), "the second waits")
		l.wants(t, "day 80% of 10: 11; day 100% of 10: 11", "two servers")
	}
	l.Exec(t, `
		create or replace function begin_days(tenants bigint[], hours bigint[], closed bigint) returns void
		language plpgsql as $$ begin end $$;
		create or replace function tell_recorded(tenants bigint[], hours bigint[], closed bigint) returns void
		language sql as $$
		  select tell_thresholds(tenants, '{day}', array[to_timestamp(hours[1] + 86400)], array[(
		    select sum(admitted)::bigint from usage_hourly
		    where tenant_id = tenants[1] and hour >= to_timestamp(hours[1]))])
		$$`)
	l.record(t, third, 1)
	l.halves(t, third)
	l.wants(t, "", "the planted sum misses both")
}

// TestThresholdsAreInTheTransaction: what is not recorded has no event. An event that is stored on
// its own is found.
func TestThresholdsAreInTheTransaction(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.quota(t, 10, "", "")
	lost := func() {
		l.Exec(t, fmt.Sprintf(`
			begin;
			select add_usage('s3', 1, 0, '{%d}', '{%d}', '{%s}', '{%d}', '{1}', '{10}',
			  '{0}', '{0}', '{0}', '{0}', '{}', '{}');
			rollback`, l.acme.ID, first.Unix(), l.key, l.add(t, l.key, first, 0, 0).Counts[0].Assignment))
	}
	lost()
	l.wants(t, "", "rolled back")
	l.Exec(t, `create extension dblink`)
	l.Exec(t, `
		create or replace function tell_recorded(tenants bigint[], hours bigint[], closed bigint) returns void
		language plpgsql as $$
		begin
		  perform from dblink('`+l.URL+`', format(
		    'select 1 from (select tell_thresholds(%L, ''{day}'', array[%L::timestamptz], ''{10}'')) e',
		    tenants, to_timestamp(hours[1] + 86400))) as t (n int);
		end $$`)
	lost()
	l.wants(t, "day 80% of 10: 10; day 100% of 10: 10", "planted")
}
