package distributed_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

type fault struct {
	lose, restore func(*redistest.Server, redis.UniversalClient)
}

var redisFaults = map[string]fault{
	"stopped": {
		func(s *redistest.Server, _ redis.UniversalClient) { s.Stop() },
		func(s *redistest.Server, _ redis.UniversalClient) { s.Start() },
	},
	"frozen": {
		func(s *redistest.Server, _ redis.UniversalClient) { s.Pause() },
		func(s *redistest.Server, _ redis.UniversalClient) { s.Resume() },
	},
	"out of memory": {
		func(_ *redistest.Server, c redis.UniversalClient) {
			c.ConfigSet(context.Background(), "maxmemory", "1")
		},
		func(_ *redistest.Server, c redis.UniversalClient) {
			c.ConfigSet(context.Background(), "maxmemory", "0")
		},
	},
	"a replica": {
		func(_ *redistest.Server, c redis.UniversalClient) { c.SlaveOf(context.Background(), "127.0.0.1", "1") },
		func(_ *redistest.Server, c redis.UniversalClient) { c.SlaveOf(context.Background(), "no", "one") },
	},
	"flushed": {
		func(s *redistest.Server, _ redis.UniversalClient) { s.Flush() },
		func(*redistest.Server, redis.UniversalClient) {},
	},
	"started again between two calls": {
		func(s *redistest.Server, _ redis.UniversalClient) { s.Stop(); s.Start() },
		func(*redistest.Server, redis.UniversalClient) {},
	},
}

// TestLosingRedis: however Redis is lost, two servers together admit what remained, of which only
// one knew. When it is back, unused grants are too.
func TestLosingRedis(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	for name, fault := range redisFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := redistest.New(t), newTestCluster()
			var log lines
			o := quick
			o.Log = zerolog.New(&log)
			a, b := w.server(t, server.URL, o), w.server(t, server.URL, quick)
			decides(t, a, b)
			admin := look(t, server.URL)
			admitted := limitstest.TakeN(t, a, 1, q, limitstest.Noon, 20)

			fault.lose(server, admin)
			assert.True(t, w.takesAll(t, []*testServer{b, a}, q, 25, &admitted), admitted, "admitted, want 45 by then")
			fault.restore(server, admin)
			decides(t, a, b)
			w.takesAll(t, []*testServer{a, b}, q, 40, &admitted)
			assert.Equal(t, admitted, 60, "admitted")
			limitstest.Check(
				t,
				"then",
				a.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
				limitstest.Want(false, 1, q, limitstest.Noon, 60, 60),
			)
			// That this server lost it, and that Postgres counts; and the end of both.
			lost, back := log.with("warn"), log.with("info")
			assert.True(
				t,
				name == "flushed" || lost == 2 && back == 2,
				"the log has",
				lost,
				"lines of losing Redis and",
				back,
				"of its return, want two each",
			)
			assert.True(t, !a.Degraded() && !b.Degraded(), "a limiter says that it is degraded")
		})
	}
}

// takesAll sends n requests to these servers in turn, counts those that were admitted, and reports
// whether all were.
func (w *testCluster) takesAll(t *testing.T, servers []*testServer, q plans.Quota, n int, admitted *int64) bool {
	t.Helper()
	before := *admitted
	for i := range n {
		*admitted += limitstest.TakeN(t, servers[i%len(servers)], 1, q, limitstest.Noon, 1)
	}
	return *admitted-before == int64(n)
}

// A frozen Redis costs the requests of that moment its timeout, twice, and the change of the term.
func TestFrozenRedisHoldsUpOneRequest(t *testing.T) {
	server := redistest.New(t)
	q := plans.Quota{PerMinute: 1000, PerDay: 10_000}
	l := newTestCluster().one(t, server.URL, distributed.Options{Log: zerolog.Nop(), Wait: 20 * time.Second})
	server.Pause()
	takes, start := l.calls.takes.Load(), time.Now()
	first := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	took := time.Since(start)
	admitted := limitstest.TakeN(t, l, 1, q, limitstest.Noon, 100)
	takes = l.calls.takes.Load() - takes
	server.Resume()
	assert.True(
		t,
		first.Admitted && admitted == 100 && takes <= 2,
		"admitted:",
		first.Admitted,
		"and then",
		admitted,
		"in",
		takes,
		"calls to Redis, want all in two",
	)
	wait.Bound(t, "the first request", took, 2*distributed.DefaultTimeout+250*time.Millisecond) // and the next term
}

func TestDegradedRequestsCallNothing(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	l := w.one(t, server.URL, quick)
	q := plans.Quota{PerMinute: 10_000, PerDay: 100_000}
	limitstest.TakeN(t, l, 1, q, limitstest.Noon, 50)
	server.Stop()
	limitstest.TakeN(t, l, 1, q, limitstest.Noon, 1)
	trips := l.calls.takes.Load() + l.calls.others.Load()
	d := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	assert.Equal(t, limitstest.TakeN(t, l, 1, q, limitstest.Noon, 2000), 2000, "of 2000 admitted without Redis")
	l.Refund(t.Context(), limitstest.Claim(1, q), d)
	assert.Equal(t, l.calls.takes.Load()+l.calls.others.Load(), trips, "calls to Redis after 2002 requests without it")
	assert.True(
		t,
		w.grants.Load() <= 5,
		"2002 requests took",
		w.grants.Load(),
		"grants from Postgres, want one for some thousand",
	)
}

func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	server.Stop()
	a, b := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
	wait.Until(
		t,
		"both are of the cluster",
		func() bool { term, ok := a.member.Term(); return ok && term.Servers == 2 },
	)
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	assert.True(t, a.Degraded() && b.Degraded(), "they do not know that Redis is away")
	assert.Equal(t, limitstest.Contest(t, []limits.Limiter{a, b}, limitstest.Claim(1, q)), 60, "admitted")
	server.Start()
	decides(t, a, b)
	limitstest.Check(
		t,
		"then",
		b.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
		limitstest.Want(false, 1, q, limitstest.Noon, 60, 60),
	)
	next := limitstest.Noon.Add(time.Minute)
	limitstest.Check(
		t,
		"the next minute",
		a.Take(t.Context(), limitstest.Claim(1, q), next),
		limitstest.Want(true, 1, q, next, 1, 61),
	)
}

// TestLateReplyAdmitsNothing: a reply of Redis that arrives after its term does not count.
func TestLateReplyAdmitsNothing(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), patient)
	q := plans.Quota{PerMinute: 1, PerDay: 10}
	limitstest.TakeN(t, l, 2, q, limitstest.Noon, 1) // another tenant's, so that the script is there
	late := func() error {
		l.calls.takeFails.Store(nil)
		l.member.SetRedis("")
		wait.Until(t, "the term is over", func() bool { term, ok := l.member.Term(); return ok && term.Redis == "" })
		return nil
	}
	l.calls.takeFails.Store(&late)
	d := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	assert.True(t, d.Admitted && d.Term >= 2, "want admitted in the second term:", d)
	assert.True(
		t,
		!l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon).Admitted,
		"the late answer had admitted too",
	)
}

func TestPostgresAwayToo(t *testing.T) {
	t.Parallel()
	w := newTestCluster()
	l := w.one(t, redistest.Shared(t), patient)
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	limitstest.TakeN(t, l, 1, q, limitstest.Noon, 3)
	w.away.Store(true)
	wait.Until(t, "the lease has run out", l.member.StoreUnreachable)
	start := time.Now()
	d := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	assert.True(
		t,
		d.Undecided && d.Term == 0 && d.Minute.Remaining == 56 && time.Since(start) < patient.Wait,
		d,
		"after",
		time.Since(start),
		"want undecided by what was last seen, without the wait for a term",
	)
	l.Refund(t.Context(), limitstest.Claim(1, q), d)
	w.away.Store(false)
	decides(t, l)
	limitstest.Check(
		t,
		"when it is back",
		l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
		limitstest.Want(true, 1, q, limitstest.Noon, 4, 4),
	)
}

// TestRefundOfAnotherTermIsNone: a refund after the request's term does nothing.
func TestRefundOfAnotherTermIsNone(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l := newTestCluster().one(t, server.URL, quick)
	q := plans.Quota{PerMinute: 3, PerDay: 1000}
	byRedis := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	server.Stop()
	limitstest.TakeN(t, l, 1, q, limitstest.Noon, 1)
	l.Refund(t.Context(), limitstest.Claim(1, q), byRedis)
	assert.Equal(t, limitstest.TakeN(t, l, 1, q, limitstest.Noon, 5), 1, "more admitted")
}

func TestCallsGoTogether(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), patient)
	limitstest.TakeN(t, l, 1, unlimited, limitstest.Noon, 1)
	limitstest.TakeN(t, l, 2, unlimited, limitstest.Noon, 1)
	l.calls.takes.Store(0)
	// The first call waits until all others are there.
	var waiting atomic.Int64
	hold := func() error {
		l.calls.takeFails.Store(nil)
		wait.Until(t, "all others wait", func() bool {
			return waiting.Load() == 64 && l.Gathered() == 63
		})
		return nil
	}
	l.calls.takeFails.Store(&hold)
	l.calls.requests.Store(0)
	var callers sync.WaitGroup
	seen := make(chan int64, 64)
	for i := range 64 {
		callers.Go(func() {
			waiting.Add(1)
			seen <- l.Take(context.Background(), limitstest.Claim(1+int64(i%2), unlimited),
				limitstest.Noon).Minute.Remaining
		})
		if i == 0 {
			wait.Until(t, "the first is on its way", func() bool { return l.calls.takes.Load() == 1 })
		}
	}
	callers.Wait()
	close(seen)
	distinct := map[int64]int{}
	for n := range seen {
		distinct[n]++
	}
	assert.Equal(t, l.calls.takes.Load(), 2, "64 calls took round trips")
	assert.Equal(t, l.calls.requests.Load(), 3, "64 calls of two tenants made requests")
	assert.True(t, len(distinct) >= 32, len(distinct), "different numbers remain after 64 requests of two tenants")
}

// TestClusterFailover: a replica that takes over may miss what its master counted last. The servers
// notice that it is another, and all of its tenants keep their limits.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 3)
	a, b := newTestCluster().two(t, cluster.URL, patient)
	const tenants = 12
	q := plans.Quota{PerMinute: 20, PerDay: 1000}
	var admitted [tenants + 1]int64
	take := func(n int) {
		for tenantID := int64(1); tenantID <= tenants; tenantID++ {
			for i := range n {
				admitted[tenantID] += limitstest.TakeN(t, []*testServer{a, b}[i%2], tenantID, q, limitstest.Noon, 1)
			}
		}
	}
	take(10)
	cluster.Nodes[0].Stop()
	take(5)
	cluster.AwaitMaster(cluster.Nodes[3])
	decides(t, a, b)
	take(20)
	for tenantID, n := range admitted[1:] {
		assert.Equal(t, n, q.PerMinute, "tenant", tenantID+1, "admitted")
	}
	if term, ok := a.member.Term(); !ok || term.Number < 3 {
		t.Errorf("term %d: this test has shown nothing", term.Number)
	}
}

// TestATenantIsNotLostWhileItBegins: Redis may not have yet what another server has begun in
// Postgres, and a caller may read that late.
func TestATenantIsNotLostWhileItBegins(t *testing.T) {
	t.Parallel()
	w := newTestCluster()
	l := w.one(t, redistest.Shared(t), patient)
	term, _ := l.member.Term()
	for tenantID := int64(1); tenantID <= 20; tenantID++ {
		c := limitstest.Claim(tenantID, unlimited)
		base, _, err := w.Initialize(t.Context(), counter.InitRequest{Claim: c, Term: term.Number, At: limitstest.Noon})
		assert.NoError(t, err)
		var callers sync.WaitGroup
		for i := range 1000 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 40 * time.Microsecond) // they come one after the other
				l.Take(t.Context(), c, limitstest.Noon)
			})
		}
		time.Sleep(20 * time.Millisecond) // half of them wait for the tenant
		assert.NoError(t, l.calls.InitTenant(t.Context(), term.Number, tenantID, base, false))
		callers.Wait()
	}
	now, _ := l.member.Term()
	assert.Equal(t, now.Number, term.Number, "term")
}

// TestExactOnTwoServers: all callers of two servers together get exactly the limit.
func TestExactOnTwoServers(t *testing.T) {
	t.Parallel()
	for _, q := range limitstest.Quotas {
		limit := min(q.PerMinute, q.PerDay)
		t.Run(strconv.FormatInt(limit, 10), func(t *testing.T) {
			t.Parallel()
			a, b := newTestCluster().two(t, redistest.Shared(t), patient)
			assert.Equal(t, limitstest.Contest(t, []limits.Limiter{a, b}, limitstest.Claim(1, q)), limit, "admitted")
			now := limitstest.Noon
			limitstest.Check(
				t,
				"then",
				b.Take(t.Context(), limitstest.Claim(1, q), now),
				limitstest.Want(false, 1, q, now, limit, limit),
			)
			assert.True(t, !a.Degraded() && !b.Degraded(), "a limiter lost Redis: this test has shown nothing")
		})
	}
}
