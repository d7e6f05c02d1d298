package store_test

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// counters is a database whose only server is in a term; the minute of its tenant 1 lasts from eleven on for some seconds more.
type counters struct {
	meteredDB
	key       meteredKey
	heartbeat cluster.Heartbeat
}

func newCounters(t *testing.T) *counters {
	t.Helper()
	g := &counters{meteredDB: newMeteredDB(t), heartbeat: cluster.Heartbeat{ServerID: "a"}}
	g.key = g.meteredDB.key(t, 1)
	g.begin(t, "")
	return g
}

// begin begins a term in which that Redis decides, or Postgres for "", and returns its number.
func (g *counters) begin(t *testing.T, redis string) int64 {
	t.Helper()
	g.heartbeat.Redis = redis
	g.heartbeat.Acked = renew(t, g.api, g.heartbeat).Term.Number
	s := renew(t, g.api, g.heartbeat)
	if !s.Active || s.Term.Redis != redis {
		t.Fatalf("no such term: %+v", s)
	}
	return s.Term.Number
}

func (g *counters) claim(q plans.Quota, perMinute int64) limits.Claim {
	return limits.Claim{TenantID: g.key.TenantID, KeyID: g.key.ID, Quota: q, KeyPerMinute: perMinute}
}

// unnumbered leaves out the windows' numbers.
func unnumbered(b counter.Baseline) counter.Baseline {
	b.Minute, b.Day = 0, 0
	return b
}

// TestCountersOverTerms: what Redis counted, what Postgres granted and what is recorded hold over the change of terms.
func TestCountersOverTerms(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 50)
	g.exec(t, `select test_usage($1, $2, $3, 'pro', 7, 1), test_usage($1, $2 - interval '1 day', $3, 'pro', 100, 0)`, g.key.TenantID, eleven, g.key.ID)

	term := g.begin(t, "r")
	base, fresh, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: eleven})
	if want := (counter.Baseline{DayUsed: 7}); err != nil || !fresh || unnumbered(base) != want {
		t.Errorf("the first to open: %+v, fresh %v, %v", base, fresh, err)
	}
	again, fresh, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: eleven})
	if err != nil || fresh || again != base {
		t.Errorf("the second to open: %+v, fresh %v, %v", again, fresh, err)
	}
	if _, err := g.api.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: eleven, Want: 1}); !errors.Is(err, counter.ErrTermOver) {
		t.Errorf("a grant while Redis decides: %v", err)
	}
	seen := base
	seen.MinuteUsed, seen.DayUsed, seen.KeyUsed = 20, 27, 10
	for range 2 { // a report may be repeated
		err := g.api.Counters.Report(t.Context(), []counter.Report{
			{TenantID: c.TenantID, KeyID: c.KeyID, Term: term, Seen: seen}, {TenantID: c.TenantID, Term: term, Seen: seen},
			{TenantID: 4711, Term: term, Seen: seen}})
		if err != nil {
			t.Fatal(err)
		}
	}

	over := term
	term = g.begin(t, "")
	if _, _, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: over, At: eleven}); !errors.Is(err, counter.ErrTermOver) {
		t.Errorf("open a term that is over: %v", err)
	}
	grant, err := g.api.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: eleven, Want: 1})
	want := counter.Grant{Baseline: counter.Baseline{Minute: base.Minute, MinuteUsed: 30, Day: base.Day, DayUsed: 37, KeyUsed: 20}, Count: 10}
	if diff := cmp.Diff(want, grant); err != nil || diff != "" {
		t.Errorf("a grant of the key's 40: %v (-want +got)\n%s", err, diff)
	}
	back := []counter.Return{{Minute: grant.Minute, Day: grant.Day, Count: 3}}
	if err := g.api.Counters.Report(t.Context(), []counter.Report{{TenantID: c.TenantID, KeyID: c.KeyID, Term: term, Returns: back}}); err != nil {
		t.Fatal(err)
	}

	term = g.begin(t, "other")
	base, fresh, err = g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: eleven})
	if want := (counter.Baseline{MinuteUsed: 27, DayUsed: 34, KeyUsed: 17}); err != nil || !fresh || unnumbered(base) != want {
		t.Errorf("after a part was given back: %+v, fresh %v, %v", base, fresh, err)
	}
	if got := g.text(t, `select count(*) from limit_states`); got != "2" {
		t.Errorf("%s rows, want 2", got)
	}
}

// TestCountersAfterAnUncleanEnd: who is killed while Redis decides may have admitted its margin more than it recorded. What it did
// not admit is given back when it has recorded everything.
func TestCountersAfterAnUncleanEnd(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 0)
	now := time.Now()
	g.exec(t, `
		insert into tenant_plans (tenant_id, plan, valid_from) values ($1, 'free', $2::timestamptz - interval '1 microsecond')`, c.TenantID, now)
	term := g.begin(t, "r")
	if _, _, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: now}); err != nil {
		t.Fatal(err)
	}
	// It may have stopped three seconds from now, in the next minute.
	minute := limits.MinuteAt(c.TenantID, now.Add(3*time.Second))
	recorded := count(c.TenantID, c.KeyID, now, 20, 0)
	recorded.Minutes = usage.Minutes{Minute: minute, InMinute: 20}
	writeUsage(t, g.api, usage.Batch{ServerID: "killed", Number: 1, Counts: []usage.Count{recorded}})
	g.exec(t, `insert into servers (id, seen_at, redis, acked) values ('killed', clock_timestamp() - interval '10 seconds', 'r', 1)`)
	g.exec(t, `update cluster_term set active = false, number = number + 1, unclean_until = $1`, now.Add(3*time.Second))
	term = g.begin(t, "")
	p, err := g.api.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: now, Want: 1})
	want := counter.Grant{Count: 16, Baseline: counter.Baseline{
		Minute: minute, MinuteUsed: 20 + 15 + 16, Day: limits.DayAt(now), DayUsed: 20 + 15 + 16, Unknown: limits.Unknown{Minute: 15, Day: 15},
	}}
	if diff := cmp.Diff(want, p); err != nil || diff != "" {
		t.Errorf("%v; want what is recorded and a twentieth of the largest limit (-want +got)\n%s", err, diff)
	}
	if err := g.api.Usage.EndUsage(t.Context(), "killed"); err != nil {
		t.Fatal(err)
	}
	term = g.begin(t, "r")
	base, _, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: now})
	if base.MinuteUsed != 36 || base.DayUsed != 36 || base.Unknown != (limits.Unknown{}) || err != nil {
		t.Errorf("%+v, %v; want the 20 that are recorded and the 16 that were granted", base, err)
	}
}

// TestGrantsOfManyServersNeverExceed: whoever asks at the same time, all that is granted is the limit, and no less.
func TestGrantsOfManyServersNeverExceed(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	term := g.begin(t, "")
	const limit = 500
	servers := []*store.DB{g.api, storetest.Open(t, g.URL, store.Options{AsAPI: true, Timeout: longTimeout})}
	own := []meteredKey{g.meteredDB.key(t, 1), g.meteredDB.key(t, 1)}
	var granted atomic.Int64
	atOnce(t, 8, 8, nil, func(i int) error {
		// Half of them by keys of their own, with rows that are not there yet.
		c := g.claim(plans.Quota{PerMinute: limit, PerDay: 100_000}, 0)
		if i%2 == 0 {
			c.KeyID, c.KeyPerMinute = own[i%4/2].ID, limit
		}
		for {
			p, err := servers[i%2].Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: eleven, Want: 1})
			if granted.Add(p.Count); err != nil || p.Count == 0 {
				return err
			}
		}
	})
	if got := granted.Load(); got != limit {
		t.Errorf("%d granted, want %d", got, limit)
	}
}

// TestOneOpens: of all that open a tenant at once, one begins its count.
func TestOneOpens(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	term := g.begin(t, "r")
	var first atomic.Int64
	atOnce(t, 8, 8, nil, func(int) error {
		_, fresh, err := g.api.Counters.Initialize(t.Context(), counter.InitRequest{Claim: g.claim(plans.Quota{PerMinute: 9, PerDay: 9}, 5), Term: term, At: eleven})
		if fresh {
			first.Add(1)
		}
		return err
	})
	if first.Load() != 1 {
		t.Errorf("%d were the first", first.Load())
	}
}

// TestReportsAndGrantsAtOnce: rows are added and locked in one order, whoever comes from which side.
func TestReportsAndGrantsAtOnce(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	const tenants = 40
	g.exec(t, `select test_key(test_tenant('many-' || n, 'free'), 'm' || lpad(n::text, 15, '0')) from generate_series(1, $1) n`, tenants)
	keyOf := func(i int64) string { return fmt.Sprintf("key_m%015d", i+1) }
	term := g.begin(t, "")
	reports := make([]counter.Report, 0, 2*tenants)
	for i := range int64(tenants) {
		now := time.Now()
		seen := counter.Baseline{Minute: limits.MinuteAt(i+2, now), MinuteUsed: 5, Day: limits.DayAt(now), DayUsed: 5, KeyUsed: 5}
		reports = append(reports, counter.Report{TenantID: i + 2, KeyID: keyOf(i), Term: term, Seen: seen}, counter.Report{TenantID: i + 2, Term: term, Seen: seen})
	}
	atOnce(t, 8, 8, nil, func(worker int) error {
		for i := range int64(tenants) {
			var err error
			if worker%2 == 0 {
				err = g.api.Counters.Report(t.Context(), reports)
			} else {
				c := limits.Claim{TenantID: i + 2, KeyID: keyOf(i), Quota: plans.Quota{PerMinute: 1000, PerDay: 1000}, KeyPerMinute: 1000}
				_, err = g.api.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: eleven, Want: 1})
			}
			if err = errors.Join(err, errorOf(g.api.Counters.Prune(t.Context(), eleven, 3))); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestPruneKeyLimits(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	minute := eleven.Unix() / 60
	g.exec(t, `insert into limit_states (tenant_id, scope, minute) values ($1, '', 1), ($1, test_key($1, 'old'), $2 - 2), ($1, test_key($1, 'older'), 1), ($1, test_key($1, 'now'), $2 - 1)`, g.key.TenantID, minute)
	for _, want := range []int{1, 1, 0} {
		if n, err := g.api.Counters.Prune(t.Context(), eleven, 1); n != want || err != nil {
			t.Errorf("%d removed, want %d; %v", n, want, err)
		}
	}
	if got := g.text(t, `select string_agg(scope, ' ' order by scope) from limit_states`); got != " key_0000000000000now" {
		t.Errorf("%q remain", got)
	}
}

// TestReportOfManyTenants prints what the end of a term costs a server that has served many tenants.
func TestReportOfManyTenants(t *testing.T) {
	g := newCounters(t)
	tenants := 1_000
	if os.Getenv("PETSTORE_SOAK") != "" {
		tenants = 10_000
	}
	g.exec(t, `select test_tenant('many-' || n, 'free') from generate_series(1, $1) n`, tenants)
	term := g.begin(t, "")
	reports := make([]counter.Report, tenants)
	for round := range int64(3) {
		for i := range reports {
			seen := counter.Baseline{Minute: 5, MinuteUsed: round + 1, Day: 5, DayUsed: round + 1}
			reports[i] = counter.Report{TenantID: int64(i) + 2, Term: term, Seen: seen}
		}
		begin := time.Now()
		// Postgres ends a transaction of reports that is silent for half a second, as on a busy machine. A server then reports again.
		err := g.api.Counters.Report(t.Context(), reports)
		for ; errors.Is(err, store.ErrUnavailable) && time.Since(begin) < longTimeout; err = g.api.Counters.Report(t.Context(), reports) {
			t.Log(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d tenants reported in %v", tenants, time.Since(begin))
	}
	if got := g.text(t, `select count(*) from limit_states where minute_used = 3 and day_used = 3`); got != fmt.Sprint(tenants) {
		t.Errorf("%s tenants have what was reported", got)
	}
}

// TestCountersRoundTrips: what a grant costs, begin and commit included.
func TestCountersRoundTrips(t *testing.T) {
	t.Parallel()
	g := newCounters(t)
	proxy := newBreakingProxy(t, g.APIURL)
	db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1, Timeout: longTimeout})
	c := g.claim(plans.Quota{PerMinute: 100, PerDay: 1000}, 50)
	for name, tt := range map[string]struct {
		redis string
		call  func(term int64) error
		want  int
	}{
		"grant": {"", func(term int64) error {
			return errorOf(db.Counters.Grant(t.Context(), counter.GrantRequest{Claim: c, Term: term, At: eleven, Want: 1}))
		}, 4},
		"open again": {"r", func(term int64) error {
			_, _, err := db.Counters.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term, At: eleven})
			return err
		}, 3},
	} {
		term := g.begin(t, tt.redis)
		if n := proxy.count(t, func() error { return tt.call(term) }); n != tt.want {
			t.Errorf("%s takes %d round trips, want %d", name, n, tt.want)
		}
	}
}
