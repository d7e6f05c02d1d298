package plans

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/plans/redistest"
)

// quick finds out soon that Redis is away, and waits for terms as long as a busy machine needs.
var quick = RedisOptions{Timeout: time.Second, Wait: 20 * time.Second, ProbeEvery: 10 * time.Millisecond, Log: zerolog.Nop()}

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

// TestLosingRedis: one of two servers has admitted all so far, and however Redis is lost, both together admit what remained.
func TestLosingRedis(t *testing.T) {
	t.Parallel()
	q := Quota{PerMinute: 60, PerDay: 1000}
	for name, fault := range redisFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := redistest.New(t), newWorld()
			var log lines
			o := quick
			o.Log = zerolog.New(&log)
			a, b := w.server(t, server.URL, o), w.server(t, server.URL, quick)
			decides(t, a, b)
			admin := look(t, server.URL)
			admitted := takeN(t, a, 1, q, noon, 20)

			fault.lose(server, admin)
			if !w.takesAll(t, []*Redis{b, a}, q, 25, &admitted) {
				t.Errorf("%d admitted, want 45 by then", admitted)
			}
			if lost := log.with("warn"); lost != 1 {
				t.Errorf("the log has %d lines of losing Redis, want 1", lost)
			}
			fault.restore(server, admin)
			decides(t, a, b)
			if !w.takesAll(t, []*Redis{a, b}, q, 40, &admitted) && admitted != 60 {
				t.Errorf("%d admitted, want 60", admitted)
			}
			check(t, "then", a.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, 60, 60))
			if lost, back := log.with("warn"), log.with("info"); lost != 1 || back != 1 {
				t.Errorf("the log has %d lines of losing Redis and %d of its return, want one each", lost, back)
			}
			if degraded(a) || degraded(b) {
				t.Error("a limiter says that it is degraded")
			}
		})
	}
}

// takesAll takes up to that many at these servers, and reports whether all were admitted.
func (w *world) takesAll(t *testing.T, servers []*Redis, q Quota, n int, admitted *int64) bool {
	t.Helper()
	before := *admitted
	for i := range n {
		*admitted += takeN(t, servers[i%len(servers)], 1, q, noon, 1)
	}
	return *admitted-before == int64(n)
}

// A frozen Redis costs the requests of that moment its timeout, once, and the change of the term. A busy machine may hold up any
// single try.
func TestFrozenRedisHoldsUpOneRequest(t *testing.T) {
	server := redistest.New(t)
	q := Quota{PerMinute: 1000, PerDay: 10_000}
	var best time.Duration
	for range 5 {
		l := newWorld().server(t, server.URL, RedisOptions{Log: zerolog.Nop(), Wait: 20 * time.Second})
		decides(t, l)
		server.Pause()
		start := time.Now()
		first := l.Take(t.Context(), claim(1, q), noon)
		took := time.Since(start)
		start = time.Now()
		admitted := takeN(t, l, 1, q, noon, 100)
		rest := time.Since(start)
		server.Resume()
		if !first.Admitted || admitted != 100 {
			t.Errorf("admitted: %v, and then %d, want all", first.Admitted, admitted)
		}
		if rest > redisTimeout {
			t.Errorf("100 requests after the first took %v: they waited for Redis", rest)
		}
		if best == 0 || took < best {
			best = took
		}
		if best <= 200*time.Millisecond {
			return
		}
	}
	t.Errorf("the first request took %v at best, want at most 200ms", best)
}

func TestDegradedRequestsCallNothing(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	l, calls, _ := w.spied(t, server.URL, quick)
	decides(t, l)
	q := Quota{PerMinute: 10_000, PerDay: 100_000}
	takeN(t, l, 1, q, noon, 50)
	server.Stop()
	takeN(t, l, 1, q, noon, 1)
	trips := calls.takes.Load() + calls.others.Load()
	d := l.Take(t.Context(), claim(1, q), noon)
	if got := takeN(t, l, 1, q, noon, 2000); got != 2000 {
		t.Errorf("%d of 2000 admitted without Redis", got)
	}
	l.Refund(t.Context(), claim(1, q), d)
	if got := calls.takes.Load() + calls.others.Load() - trips; got != 0 {
		t.Errorf("2002 calls without Redis made %d calls to it", got)
	}
	if n := w.grants.Load(); n > 5 {
		t.Errorf("2002 requests took %d grants from Postgres, want one for some thousand", n)
	}
}

func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	server.Stop()
	a, b := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
	eventually(t, "both are of the cluster", func() bool { term, ok := a.cluster.Term(); return ok && term.Servers == 2 })
	q := Quota{PerMinute: 60, PerDay: 1000}
	if !degraded(a) || !degraded(b) {
		t.Error("they do not know that Redis is away")
	}
	if got := contest(t, []Limiter{a, b}, claim(1, q)); got != 60 {
		t.Errorf("%d admitted, want 60", got)
	}
	server.Start()
	decides(t, a, b)
	check(t, "then", b.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, 60, 60))
	next := noon.Add(time.Minute)
	check(t, "the next minute", a.Take(t.Context(), claim(1, q), next), want(true, 1, q, next, 1, 61))
}

// TestUnusedGrantsComeBack: what one server took and did not need is there for the others when Redis is back.
func TestUnusedGrantsComeBack(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	server.Stop()
	a, b := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
	q := Quota{PerMinute: 60, PerDay: 1000}
	takeN(t, a, 1, q, noon, 1)
	d := b.Take(t.Context(), claim(1, q), noon)
	b.Refund(t.Context(), claim(1, q), d)
	server.Start()
	decides(t, a, b)
	check(t, "then", b.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 2, 2))
}

// TestSilentServerClosesTheMinute: nobody knows what a server admitted that is killed while Redis is lost, so nobody admits more
// in that minute.
func TestSilentServerClosesTheMinute(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	silent := w.member(t)
	other := newRedis(newRedisCounters(look(t, server.URL).(*RedisClient)), RedisOptions{
		Cluster: silent, Counters: w, Timeout: time.Second, Log: zerolog.Nop(),
	})
	other.start(t.Context())
	l := w.server(t, server.URL, quick)
	for range 3 {
		if err := silent.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	decides(t, l)
	now := time.Now()
	q := Quota{PerMinute: 60, PerDay: 1000}
	if got := takeN(t, l, 1, q, now, 10) + takeN(t, other, 1, q, now, 20); got != 30 {
		t.Fatalf("%d admitted, want 30", got)
	}
	server.Stop()
	if l.Take(t.Context(), claim(1, q), now).Admitted {
		t.Error("admitted, although nobody knows how many the silent server has")
	}
	next := time.Unix(minuteReset(1, minuteAt(1, now)+1), 0).Add(time.Second)
	if d := l.Take(t.Context(), claim(1, q), next); !d.Admitted || d.Day.Remaining != 1000-10-2*60-1 && DayAt(next) == DayAt(now) {
		t.Errorf("two minutes later: %+v, want admitted, and the day short of two minutes", d)
	}
}

// TestLateAnswerAdmitsNothing: an answer of Redis that arrives when its term is over is none.
func TestLateAnswerAdmitsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	url := redistest.Shared(t)
	l, calls, _ := w.spied(t, url, patient)
	decides(t, l)
	q := Quota{PerMinute: 1, PerDay: 10}
	takeN(t, l, 2, q, noon, 1) // another tenant's, so that the script is there
	late := func() error {
		calls.takeFails.Store(nil)
		l.cluster.SetRedis("")
		eventually(t, "the term is over", func() bool { term, ok := l.cluster.Term(); return ok && term.Redis == "" })
		return nil
	}
	calls.takeFails.Store(&late)
	d := l.Take(t.Context(), claim(1, q), noon)
	if !d.Admitted || d.Term < 2 {
		t.Errorf("%+v: want admitted in the second term", d)
	}
	if l.Take(t.Context(), claim(1, q), noon).Admitted {
		t.Error("the late answer had admitted too")
	}
}

func TestPostgresAwayToo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	l := w.server(t, redistest.Shared(t), patient)
	decides(t, l)
	q := Quota{PerMinute: 60, PerDay: 1000}
	takeN(t, l, 1, q, noon, 3)
	w.away.Store(true)
	eventually(t, "the lease has run out", l.cluster.StoreUnreachable)
	start := time.Now()
	d := l.Take(t.Context(), claim(1, q), noon)
	if !d.Undecided || d.Term != 0 || d.Minute.Remaining != 56 || time.Since(start) > time.Second {
		t.Errorf("%+v after %v: want undecided at once, by what was last seen", d, time.Since(start))
	}
	l.Refund(t.Context(), claim(1, q), d)
	w.away.Store(false)
	decides(t, l)
	check(t, "when it is back", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 4, 4))
}

// TestRefundOfAnotherTermIsNone: by then nobody knows in which count the request is.
func TestRefundOfAnotherTermIsNone(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	l := w.server(t, server.URL, quick)
	decides(t, l)
	q := Quota{PerMinute: 3, PerDay: 1000}
	byRedis := l.Take(t.Context(), claim(1, q), noon)
	server.Stop()
	takeN(t, l, 1, q, noon, 1)
	l.Refund(t.Context(), claim(1, q), byRedis)
	if got := takeN(t, l, 1, q, noon, 5); got != 1 {
		t.Errorf("%d more admitted, want 1", got)
	}
}

func TestCallsGoTogether(t *testing.T) {
	t.Parallel()
	l, calls, _ := newWorld().spied(t, redistest.Shared(t), patient)
	decides(t, l)
	takeN(t, l, 1, open, noon, 1)
	takeN(t, l, 2, open, noon, 1)
	calls.takes.Store(0)
	// The first call waits until all others are there.
	var waiting atomic.Int64
	hold := func() error {
		calls.takeFails.Store(nil)
		eventually(t, "all others wait", func() bool {
			l.flights.mu.Lock()
			defer l.flights.mu.Unlock()
			return l.flights.next != nil && waiting.Load() == 64 && flightCount(l.flights.next) == 63
		})
		return nil
	}
	calls.takeFails.Store(&hold)
	calls.asked.Store(0)
	var callers sync.WaitGroup
	seen := make(chan int64, 64)
	for i := range 64 {
		callers.Go(func() {
			waiting.Add(1)
			seen <- l.Take(context.Background(), claim(1+int64(i%2), open), noon).Minute.Remaining
		})
		if i == 0 {
			eventually(t, "the first is on its way", func() bool { return calls.takes.Load() == 1 })
		}
	}
	callers.Wait()
	close(seen)
	distinct := map[int64]int{}
	for n := range seen {
		distinct[n]++
	}
	if got := calls.takes.Load(); got != 2 {
		t.Errorf("64 calls took %d round trips, want 2", got)
	}
	if got := calls.asked.Load(); got != 3 {
		t.Errorf("64 calls of two tenants ran %d scripts, want 3", got)
	}
	if len(distinct) < 32 {
		t.Errorf("%d different numbers remain after 64 requests of two tenants", len(distinct))
	}
}

func flightCount(f *flight) (n int64) {
	for i := range f.asks {
		n += f.asks[i].count
	}
	return n
}

// TestClusterFailover: a replica that takes over may miss what its master counted last. The servers notice that it is another, and
// all of its tenants keep their limits.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	cluster, w := redistest.NewCluster(t, 3), newWorld()
	a, b := w.server(t, cluster.URL, quick), w.server(t, cluster.URL, quick)
	decides(t, a, b)
	const tenants = 12
	q := Quota{PerMinute: 20, PerDay: 1000}
	var admitted [tenants + 1]int64
	take := func(n int) {
		for tenantID := int64(1); tenantID <= tenants; tenantID++ {
			for i := range n {
				admitted[tenantID] += takeN(t, []*Redis{a, b}[i%2], tenantID, q, noon, 1)
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
		if n != q.PerMinute {
			t.Errorf("tenant %d: %d admitted, want %d", tenantID+1, n, q.PerMinute)
		}
	}
	if term, ok := a.cluster.Term(); !ok || term.Number < 3 {
		t.Errorf("term %d: this test has shown nothing", term.Number)
	}
}
