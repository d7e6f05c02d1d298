package counters_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// counterDB is a database whose only server is in a term; the minute of its tenant 1 lasts from
// eleven on for some seconds more.
type counterDB struct {
	fixture.MeteredDB
	key       fixture.MeteredKey
	heartbeat cluster.Heartbeat
}

func newCounters(t *testing.T) *counterDB {
	t.Helper()
	g := &counterDB{MeteredDB: fixture.NewMeteredDB(t), heartbeat: cluster.Heartbeat{ServerID: "a"}}
	g.key = g.Key(t, 1)
	g.begin(t, "")
	return g
}

// begin begins a term in which that Redis decides, or Postgres for "", and returns its number.
func (g *counterDB) begin(t *testing.T, redis string) int64 {
	t.Helper()
	g.heartbeat.Redis = redis
	g.heartbeat.Acked = fixture.Renew(t, g.API, g.heartbeat).Term.Number
	s := fixture.Renew(t, g.API, g.heartbeat)
	if !s.Active || s.Term.Redis != redis {
		t.Fatalf("no such term: %+v", s)
	}
	return s.Term.Number
}

func (g *counterDB) claim(q plans.Quota, perMinute int64) limits.Claim {
	return limits.Claim{TenantID: g.key.TenantID, KeyID: g.key.ID, Quota: q, KeyPerMinute: perMinute}
}

// record writes as a server what it admitted of the key at an instant.
func (g *counterDB) record(t *testing.T, serverID string, batch int64, at time.Time, n int64) {
	t.Helper()
	recorded := fixture.Count(g.key.TenantID, g.key.ID, at, n, 0)
	recorded.Minutes = usage.Minutes{Minute: limits.MinuteAt(g.key.TenantID, at), InMinute: n}
	fixture.WriteUsage(t, g.API, usage.Batch{ServerID: serverID, Number: batch, Counts: []usage.Count{recorded}})
}

// TestCountersOverTerms: a term begins where the records stand, whatever was granted in the one
// before.
func TestCountersOverTerms(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 50)
	now := minuteWithin(g.key.TenantID)
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	month := limits.MonthAt(now)
	g.record(t, "a", 1, now, 7)

	term := g.begin(t, "r")
	base, fresh, err := g.API.Counters.Initialize(
		t.Context(),
		counter.InitRequest{Claim: c, Term: term, At: now.Add(-time.Hour)},
	)
	base.LatestMinute, base.LatestDay, base.LatestMonth = 0, 0, 0
	begins := counter.Baseline{Minute: minute, MinuteUsed: 7, Day: day, DayUsed: 7, Month: month, KeyUsed: 7}
	if want := begins; err != nil ||
		!fresh ||
		base != want {
		t.Errorf("the first to open: %+v, fresh %v, %v, want %+v", base, fresh, err, want)
	}
	if _, fresh, err := g.API.Counters.Initialize(
		t.Context(),
		counter.InitRequest{Claim: c, Term: term, At: now},
	); err != nil ||
		fresh {
		t.Errorf("the second to open: fresh %v, %v", fresh, err)
	}
	_, err = g.API.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: now, Want: 1})
	assert.ErrorIs(t, err, counter.ErrTermOver, "a grant while Redis decides")

	g.record(t, "a", 2, now, 13) // what Redis counted
	over := term
	term = g.begin(t, "")
	_, _, err = g.API.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: over, At: now})
	assert.ErrorIs(t, err, counter.ErrTermOver, "open a term that is over")
	grant, err := g.API.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: now, Want: 1})
	want := counter.Grant{
		Baseline: counter.Baseline{Minute: minute, MinuteUsed: 27, Day: day, DayUsed: 27, Month: month, KeyUsed: 27},
		Count:    7,
	}
	assert.Result(t, grant, err, want, "a grant of the key's 30")
	again, err := g.API.Counters.Grant(t.Context(), counter.GrantRequest{
		Claim: c, Term: term, At: now, Returns: []counter.Return{{Minute: minute, Day: day, Count: 3}},
	})
	if err != nil || again.MinuteUsed != 24 || again.KeyUsed != 24 {
		t.Errorf("after 3 were given back: %+v, %v", again, err)
	}

	g.record(t, "a", 3, now, 2) // of the 4 that it kept
	term = g.begin(t, "r")
	base, fresh, err = g.API.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: now})
	if err != nil || !fresh || base.MinuteUsed != 22 || base.DayUsed != 22 || base.KeyUsed != 22 {
		t.Errorf("in the next term: %+v, fresh %v, %v; want the 22 that are recorded", base, fresh, err)
	}
	assert.Equal(t, g.Text(t, `select count(*) from limit_states`), "2", "rows")
}

// minuteWithin returns the present instant, at which the tenant's minute lasts for some seconds
// more.
func minuteWithin(tenantID int64) time.Time {
	now := time.Now()
	if end := time.Unix(limits.MinuteReset(tenantID, limits.MinuteAt(tenantID, now)), 0); end.Sub(now) < 8*time.Second {
		time.Sleep(time.Until(end)) // for the next minute
	}
	return time.Now()
}

// TestSilentServerInCounters: a server that was killed may have admitted its margin more than it
// recorded, in the windows that began before it had surely stopped: not any more when it has
// recorded everything.
func TestSilentServerInCounters(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 0)
	now := minuteWithin(g.key.TenantID)
	g.Exec(t, `
		insert into tenant_plans (tenant_id, plan, valid_from) values ($1, 'free', $2::timestamptz - interval
			'1 microsecond')`, c.TenantID, now)
	g.record(t, "killed", 1, now, 20)
	// It has not acknowledged a term.
	g.Exec(
		t,
		`insert into servers (id, seen_at, redis, acked) values ('killed', clock_timestamp() - interval '10 seconds',
			'r', 1)`,
	)
	grant := func(redis string) counter.Baseline {
		t.Helper()
		term := g.begin(t, redis)
		base, _, err := g.API.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: now})
		assert.NoError(t, err)
		return base
	}
	in10 := now.Add(-10*time.Second + cluster.FenceTimeout)
	minute := int64(20)
	if limits.MinuteAt(c.TenantID, in10) == limits.MinuteAt(c.TenantID, now) {
		minute += 15
	}
	if base := grant("r"); base.MinuteUsed != minute || base.DayUsed != 20+15 {
		t.Errorf("%+v; want what is recorded and a twentieth of the largest limit", base)
	}
	g.Exec(t, `delete from servers where id = 'killed'`)
	if base := grant("other"); base.MinuteUsed != 20+15 || base.DayUsed != 20+15 {
		t.Errorf("%+v; want the margin of a server that nobody knows any more", base)
	}
	assert.NoError(t, g.API.Usage.EndUsage(t.Context(), "killed"))
	if base := grant("r"); base.MinuteUsed != 20 || base.DayUsed != 20 {
		t.Errorf("%+v; want the 20 that are recorded", base)
	}
}

// TestGrantsOfManyServersNeverExceed: whoever asks at the same time, all that is granted is the
// limit, and no less.
func TestGrantsOfManyServersNeverExceed(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	term := g.begin(t, "")
	const limit = 500
	servers := []*store.DB{g.API, storetest.Open(t, g.URL, store.Options{AsAPI: true})}
	own := []fixture.MeteredKey{g.Key(t, 1), g.Key(t, 1)}
	var granted atomic.Int64
	fixture.AtOnce(t, 8, 8, nil, func(i int) error {
		// Half of them by keys of their own, with rows that are not there yet.
		c := g.claim(plans.Quota{PerMinute: limit, PerDay: 100_000}, 0)
		if i%2 == 0 {
			c.KeyID, c.KeyPerMinute = own[i%4/2].ID, limit
		}
		for {
			p, err := servers[i%2].Counters.Grant(
				t.Context(),
				counter.GrantRequest{Claim: c, Term: term, At: fixture.Eleven, Want: 1},
			)
			if granted.Add(p.Count); err != nil || p.Count == 0 {
				return err
			}
		}
	})
	assert.Equal(t, granted.Load(), limit, "granted")
}

// TestOneOpens: of all that open a tenant at once, one begins its count.
func TestOneOpens(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	term := g.begin(t, "r")
	var first atomic.Int64
	fixture.AtOnce(t, 8, 8, nil, func(int) error {
		_, fresh, err := g.API.Counters.Initialize(
			t.Context(),
			counter.InitRequest{
				Claim: g.claim(plans.Quota{PerMinute: 9, PerDay: 9}, 5),
				Term:  term,
				At:    fixture.Eleven,
			},
		)
		if fresh {
			first.Add(1)
		}
		return err
	})
	assert.Equal(t, first.Load(), 1, "were the first")
}

// TestGrantsAtOnce: rows are added and locked in one order, whoever comes from which side.
func TestGrantsAtOnce(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	const tenants = 40
	g.Exec(
		t,
		`select test_key(test_tenant('many-' || n, 'free'), 'm' || lpad(n::text, 15, '0')) from generate_series(1, $1)
			n`,
		tenants,
	)
	term := g.begin(t, "")
	fixture.AtOnce(t, 8, 8, nil, func(worker int) error {
		for n := range int64(tenants) {
			i := n
			if worker%2 == 0 {
				i = tenants - 1 - n
			}
			c := limits.Claim{
				TenantID:     i + 2,
				KeyID:        fmt.Sprintf("key_m%015d", i+1),
				Quota:        plans.Quota{PerMinute: 1000, PerDay: 1000},
				KeyPerMinute: 1000,
			}
			_, err := g.API.Counters.Grant(
				t.Context(),
				counter.GrantRequest{Claim: c, Term: term, At: fixture.Eleven, Want: 1},
			)
			if err = errors.Join(
				err,
				fixture.ErrorOf(g.API.Counters.Prune(t.Context(), fixture.Eleven, 3)),
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestCountersRoundTrips: what a grant costs, begin and commit included.
func TestCountersRoundTrips(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	proxy := fixture.NewBreakingProxy(t, g.APIURL)
	db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1})
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 50)
	for name, tt := range map[string]struct {
		redis string
		call  func(term int64) error
		want  int
	}{
		"grant": {"", func(term int64) error {
			return fixture.ErrorOf(db.Counters.Grant(t.Context(),
				counter.GrantRequest{Claim: c, Term: term, At: fixture.Eleven, Want: 1}))
		}, 4},
		"open again": {"r", func(term int64) error {
			r := counter.InitRequest{Claim: c, Term: term, At: fixture.Eleven}
			_, _, err := db.Counters.Initialize(t.Context(), r)
			return err
		}, 3},
	} {
		term := g.begin(t, tt.redis)
		assert.Equal(t, proxy.Count(t, func() error { return tt.call(term) }), tt.want, name, "takes round trips")
	}
}
