package counters_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
)

// total is a tenant's running total of the month of an instant, or none.
const total = `
	select coalesce((select admitted::text from tenant_months
	  where tenant_id = $1 and month = date_trunc('month', $2::timestamptz at time zone 'UTC')), 'none')`

// withMonths makes version 2 of Pro, which the fixture's tenants have, with a month.
func (g *counterDB) withMonths(t *testing.T) {
	t.Helper()
	g.Exec(t, `select set_config('petstore.audited', 'on', false)`)
	g.Exec(t, `
		insert into plan_versions
		  (plan, version, per_minute, per_day, month, per_month, overage, generation, valid_from)
		select plan, 2, per_minute, per_day, 'some', 120000, 'none', generation, valid_from + interval '1 second'
		from plan_versions where plan = 'pro' and version = 1`)
}

func (g *counterDB) count(version int, at time.Time, n int64) usage.Count {
	c := fixture.Count(g.key.TenantID, g.key.ID, at, n, 0)
	c.Version = version
	return c
}

// TestMonthsTotal: a tenant's running total of a month is the sum of its hours whose version has a
// month, whatever writes them.
func TestMonthsTotal(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	g.withMonths(t)
	at, batch := fixture.Eleven, int64(0)
	write := func(counts ...usage.Count) {
		t.Helper()
		batch++
		fixture.WriteUsage(t, g.API, usage.Batch{ServerID: "a", Number: batch, Counts: counts})
	}
	want := func(what, n string) {
		t.Helper()
		assert.Equal(t, g.Text(t, total, g.key.TenantID, at), n, what)
	}
	write(g.count(1, at, 5))
	want("without a month", "none")
	write(g.count(2, at, 7), g.count(1, at, 3))
	want("the first with one", "7")
	write(g.count(2, at, 10), g.count(2, at.Add(time.Hour), 20), g.count(2, at.AddDate(0, -1, 0), 40))
	want("added, and new hours", "37")
	g.Exec(t, `update usage_hourly set admitted = admitted + 100 where version = 2 and admitted = 20`)
	want("changed by hand", "137")
	g.Exec(t, `update usage_hourly set version = 1 where admitted = 120`)
	want("moved to another version", "17")
	g.Exec(t, `delete from tenant_months`)
	write(g.count(2, at, 1))
	want("a row that begins with its hours", "18")
	write(g.count(2, at.Add(2*time.Hour), 30))
	g.Exec(t, `delete from usage_hourly where admitted = 30`)
	want("an hour that was removed", "18")
	begins := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	write(g.count(2, begins, 5), g.count(2, begins.Add(-time.Hour), 6), g.count(2, begins.AddDate(0, 1, 0), 7))
	want("the first hour, and those beside the month", "23")
	g.Exec(t, `delete from tenant_months`)
	g.Exec(t, `delete from usage_hourly where admitted = 18`)
	want("removed", "5")
	assert.Equal(t, g.Text(t, total, g.key.TenantID, at.AddDate(0, -1, 0)), "none", "another month")
}

// TestMonthsTotalTogether: servers write usage of the same tenants in any order, and none waits for
// ever for another.
func TestMonthsTotalTogether(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	g.withMonths(t)
	const tenants, servers, batches = 6, 4, 25
	var keys []fixture.MeteredKey
	for n := range tenants {
		keys = append(keys, g.Key(t, n+1))
	}
	var running sync.WaitGroup
	for server := range servers {
		running.Go(func() {
			for batch := range batches {
				var counts []usage.Count
				for i := range tenants {
					// Some hours are new and some are not, at each server others.
					at := fixture.Eleven.Add(time.Duration((batch+i*server)%7) * time.Hour)
					k := keys[(i*5+server)%tenants]
					c := fixture.Count(k.TenantID, k.ID, at, 1, 0)
					c.Version = 2
					counts = append(counts, c)
				}
				b := usage.Batch{ServerID: fmt.Sprint("s", server), Number: int64(batch + 1), Counts: counts}
				if err := g.API.Usage.WriteUsage(t.Context(), b); err != nil {
					t.Errorf("server %d, batch %d: %v", server, batch, err)
				}
			}
		})
	}
	running.Wait()
	for _, k := range keys {
		assert.Equal(t, g.Text(t, total, k.TenantID, fixture.Eleven), fmt.Sprint(servers*batches), "total")
	}
}

// TestMonthsAreOff: while a server of the last release is alive no month is enforced, and no plan
// gets one. When it is gone a term begins.
func TestMonthsAreOff(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	renew := func() cluster.State {
		t.Helper()
		s := fixture.Renew(t, g.API, g.heartbeat)
		g.heartbeat.Acked = s.Term.Number
		return s
	}
	before := renew().Term
	assert.Equal(t, before.NoMonths, false, "no month is enforced")
	g.Exec(t, `select renew_server('old', '', 0, 1000, 1)`) // as the last release calls it
	if s := renew(); !s.Term.NoMonths {
		t.Errorf("with a server of the last release: %+v", s)
	}
	_, err := g.Owner.ExecContext(t.Context(), `
		insert into plan_versions
		  (plan, version, per_minute, per_day, month, per_month, overage, generation, valid_from)
		select plan, 2, per_minute, per_day, 'some', 120000, 'none', generation, now() + interval '1 day'
		from plan_versions where plan = 'pro' and version = 1`)
	assert.True(t, pgconn.IsConstraint(err, "servers_months"), "a plan gets a month", err)
	g.Exec(t, `delete from servers where id = 'old'`)
	renew()
	after := renew().Term
	assert.True(t, !after.NoMonths && after.Number > before.Number, "after it", after)
	g.withMonths(t)
}

// TestMonthsBeginAtTheRecords: a term begins a month at its running total, with the margin of each
// server that ended silently in it, and the row keeps what is granted.
func TestMonthsBeginAtTheRecords(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	g.withMonths(t)
	q := plans.Quota{PerMinute: 100, PerDay: 1000, Month: plans.Month{Kind: plans.SomeMonth, Included: 120_000}}
	c := g.claim(q, 0)
	now := minuteWithin(g.key.TenantID)
	g.Exec(
		t,
		`insert into tenant_months (tenant_id, month, admitted)
			values ($1, date_trunc('month', now() at time zone 'UTC'), 119000)`,
		g.key.TenantID,
	)
	take := func(want int64) counter.Grant {
		t.Helper()
		term := g.begin(t, "")
		got, err := g.API.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: now, Want: want})
		assert.NoError(t, err)
		return got
	}
	got := take(1)
	assert.Equal(t, got.Month, limits.MonthAt(now), "month")
	assert.Equal(t, got.MonthUsed, 119_000+got.Count, "used")
	g.Exec(t, `insert into usage_writers (server_id, batch, written_at)
		values ('gone', 1, date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + interval '1 second')`)
	g.begin(t, "r")
	silent := take(1)
	perMinute := g.Text(t, `select max(per_minute)::text from quota_periods where tenant_id = $1`, g.key.TenantID)
	assert.Equal(t, fmt.Sprint((silent.MonthUsed-silent.Count-119_000)*20), perMinute, "twenty times the margin")
	again, err := g.API.Counters.Grant(t.Context(), counter.GrantRequest{
		Claim: c, Term: g.begin(t, ""), At: now,
		Returns: []counter.Return{{Minute: silent.Minute, Day: silent.Day, Month: silent.Month, Count: silent.Count}},
	})
	assert.NoError(t, err)
	assert.Equal(t, again.MonthUsed, silent.MonthUsed-silent.Count, "given back")
}
