package counters_test

import (
	"sync"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/wait"
)

// newBusyCounters returns a database with so many more tenants, in a term of Redis, and with as
// many transactions under way as a server has: calls that come now wait until release, and then
// share transactions.
func newBusyCounters(t *testing.T, tenants int) (g *counterDB, term int64, release func()) {
	t.Helper()
	g = newCounters(t)
	g.Exec(t, `select test_tenant('many-' || n, 'free') from generate_series(1, $1) n`, tenants)
	g.Exec(
		t,
		`insert into limit_states (tenant_id, scope) select id, scope from tenants, (values (''), (test_key($1,
			'busy'))) s (scope) where id = $1 or scope = ''`,
		g.key.TenantID,
	)
	term = g.begin(t, "r")
	tx, err := g.Owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `select from limit_states where tenant_id = $1 for update`, g.key.TenantID)
	assert.NoError(t, err)
	var busy sync.WaitGroup
	for range 2 {
		busy.Go(func() {
			_, _, err := g.initialize(t, g.key.TenantID, term, fixture.Eleven)
			assert.Equal(t, err, nil)
		})
	}
	eventuallyText(
		t,
		g.Database,
		"2",
		`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and
			query like '%limit_states%'`,
	)
	return g, term, func() {
		assert.Equal(t, tx.Rollback(), nil)
		busy.Wait()
	}
}

func (g *counterDB) initialize(t *testing.T, tenantID, term int64, at time.Time) (counter.Baseline, bool, error) {
	c := limits.Claim{TenantID: tenantID, Quota: plans.Quota{PerMinute: 100, PerDay: 1000}}
	return g.API.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: at})
}

// eventuallyText waits until the query has that result.
func eventuallyText(t *testing.T, db fixture.Database, want, query string) {
	t.Helper()
	got := ""
	wait.Until(t, query+": "+want, func() bool {
		got = db.Text(t, query)
		return got == want
	}, &got)
}

// TestManyOpenInFewTransactions: calls that wait share transactions, and each has the result that
// it would have alone.
func TestManyOpenInFewTransactions(t *testing.T) {
	t.Parallel()
	const tenants = 200
	g, term, release := newBusyCounters(t, tenants)
	now := time.Now()
	g.Exec(
		t,
		`select test_usage(id, date_trunc('hour', $1::timestamptz), $2, 'free', id, 0) from tenants`,
		now,
		g.key.ID,
	)
	var all sync.WaitGroup
	for id := g.key.TenantID + 1; id <= g.key.TenantID+tenants; id++ {
		all.Go(func() {
			base, fresh, err := g.initialize(t, id, term, now)
			if err != nil || !fresh || base.DayUsed != id || base.MinuteUsed != 0 {
				t.Errorf("tenant %d: %+v, fresh %v, %v; want %d of the day", id, base, fresh, err, id)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // for them to come
	release()
	all.Wait()
	if got := g.Text(t, `select count(distinct xmin::text) <= 20 from limit_states`); got != "true" {
		t.Errorf(
			"%d tenants were opened in %s transactions",
			tenants,
			g.Text(t, `select count(distinct xmin::text) from limit_states`),
		)
	}
}

// TestNobodyWaitsForALockedRow: a row that another server has locked holds up the calls that need
// it, and no other.
func TestNobodyWaitsForALockedRow(t *testing.T) {
	t.Parallel()
	g, term, release := newBusyCounters(t, 3)
	first := g.key.TenantID + 1
	tx, err := g.Owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `select from limit_states where tenant_id = $1 for update`, first)
	assert.NoError(t, err)
	var locked, others sync.WaitGroup
	for id := first; id < first+3; id++ {
		waits := &others
		if id == first {
			waits = &locked
		}
		waits.Go(func() {
			if _, fresh, err := g.initialize(t, id, term, fixture.Eleven); err != nil || !fresh {
				t.Errorf("tenant %d: fresh %v, %v", id, fresh, err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // for them to come
	release()
	others.Wait()
	g.Want(t, "0", `select term from limit_states where tenant_id = $1`, first)
	assert.Equal(t, tx.Rollback(), nil)
	locked.Wait()
}

// TestOneFailsNoOther: what Postgres refuses for one tenant, and a tenant that is not there, fail
// no other.
func TestOneFailsNoOther(t *testing.T) {
	t.Parallel()
	g, term, release := newBusyCounters(t, 2)
	first, ahead := g.key.TenantID+1, time.Now().Add(50*time.Hour)
	var all sync.WaitGroup
	for i, tt := range []struct {
		tenant int64
		at     time.Time
		fails  bool
	}{{first, fixture.Eleven, false}, {first + 1, ahead, true}, {4711, fixture.Eleven, true}} {
		all.Go(func() {
			if _, fresh, err := g.initialize(t, tt.tenant, term, tt.at); (err != nil) != tt.fails || fresh == tt.fails {
				t.Errorf("call %d: fresh %v, %v", i, fresh, err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // for them to come
	release()
	all.Wait()
	_, _, err := g.initialize(t, first, term-1, fixture.Eleven)
	assert.ErrorIs(t, err, counter.ErrTermOver, "a term that is over")
}
