package plans

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/plans/redistest"
)

func TestLosingRedis(t *testing.T) {
	t.Parallel()
	q := Quota{PerMinute: 60, PerDay: 1000}
	faults := map[string]struct {
		lose, restore func(*redistest.Server, redis.UniversalClient)
	}{
		"stopped": {
			func(s *redistest.Server, _ redis.UniversalClient) { s.Stop() },
			func(s *redistest.Server, _ redis.UniversalClient) { s.Start() },
		},
		"frozen": {
			func(s *redistest.Server, _ redis.UniversalClient) { s.Freeze() },
			func(s *redistest.Server, _ redis.UniversalClient) { s.Thaw() },
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
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			var log lines
			l := newRedis(t, server.URL, RedisOptions{Timeout: time.Second, Log: zerolog.New(&log)})
			_, admin := newRedisClient(t, server.URL, patient)
			takeN(t, l, 1, q, noon, 10)

			fault.lose(server, admin)
			if got := takeN(t, l, 1, q, noon, 100); got != 50 {
				t.Errorf("%d admitted without Redis, want the 50 that remained", got)
			}
			if !degraded(l) {
				t.Error("it does not say that it is degraded")
			}
			if _, since := l.Degraded(); time.Since(since) > time.Minute {
				t.Errorf("degraded since %v", since)
			}
			fault.restore(server, admin)
			mendedAll(t, l)

			// A frozen one may also have counted the call that went unanswered. A stopped one came back empty.
			got := usedInRedis(t, admin, 1, noon)
			if got.minute != got.day || got.minute < 60 || got.minute > 61 {
				t.Errorf("used after all: %+v, want 60 in both", got)
			}
			check(t, "then", l.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, got.minute, got.day))
			if lost, back := log.with("warn"), log.with("info"); lost != back || lost == 0 {
				t.Errorf("the log has %d lines of losing Redis and %d of its return", lost, back)
			}
		})
	}
}

// A frozen Redis costs the request that finds out its timeout, once. A busy machine may hold up any single try.
func TestFrozenRedisHoldsUpOneRequest(t *testing.T) {
	server := redistest.New(t)
	q := Quota{PerMinute: 1000, PerDay: 10_000}
	var best time.Duration
	for try := range 5 {
		l := newRedis(t, server.URL, RedisOptions{Log: zerolog.Nop()})
		mendedAll(t, l)
		server.Freeze()
		start := time.Now()
		l.Take(t.Context(), claim(1, q), noon)
		first := time.Since(start)
		start = time.Now()
		takeN(t, l, 1, q, noon, 100)
		rest := time.Since(start)
		server.Thaw()
		if rest > redisTimeout {
			t.Errorf("100 requests after the first took %v: they waited for Redis", rest)
		}
		if best == 0 || first < best {
			best = first
		}
		if try >= 1 && best <= 150*time.Millisecond {
			break
		}
	}
	if best > 150*time.Millisecond {
		t.Errorf("the first request took %v at best, want at most 150ms", best)
	}
}

func TestDegradedRequestsCallNothing(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l, client := newRedisClient(t, server.URL, RedisOptions{Timeout: patient.Timeout, Log: zerolog.Nop(), ProbeEvery: time.Hour})
	var calls interceptor
	client.AddHook(&calls)
	q := Quota{PerMinute: 1000, PerDay: 10_000}
	before := calls.calls.Load()
	takeN(t, l, 1, q, noon, 1) // loads the script
	takeN(t, l, 1, q, noon, 50)
	if got := calls.calls.Load() - before; got > 52 || got < 51 {
		t.Errorf("51 decisions made %d calls, want one each and one to load the script", got)
	}
	server.Stop()
	takeN(t, l, 1, q, noon, 1)
	eventually(t, "the first probe is over", func() bool { return calls.calls.Load()-before >= 53 })
	before = calls.calls.Load()
	d := l.Take(t.Context(), claim(1, q), noon)
	takeN(t, l, 1, q, noon, 2000)
	l.Refund(t.Context(), Claim{TenantID: 1}, d)
	if got := calls.calls.Load() - before; got != 0 {
		t.Errorf("2001 requests without Redis made %d calls to it", got)
	}
}

func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	server.Stop()
	l, client := newRedisClient(t, server.URL, patient)
	q := Quota{PerMinute: 60, PerDay: 1000}
	if !degraded(l) {
		t.Error("it does not know that Redis is away")
	}
	if got := takeN(t, l, 1, q, noon, 70); got != 60 {
		t.Errorf("%d admitted, want 60", got)
	}
	server.Start()
	mendedAll(t, l)
	if got := usedInRedis(t, client, 1, noon); got != (used{60, 60, 0}) {
		t.Errorf("used: %+v, want 60 in both", got)
	}
	next := noon.Add(time.Minute)
	check(t, "then", l.Take(t.Context(), claim(1, q), next), want(true, 1, q, next, 1, 61))
}

// What was admitted without Redis is added once, also when the first attempts do not hear that they succeeded.
func TestAddedBackOnce(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l, client := newRedisClient(t, server.URL, RedisOptions{Timeout: patient.Timeout, Log: zerolog.Nop(), ProbeEvery: time.Millisecond})
	var reply interceptor
	client.AddHook(&reply)
	server.Stop()
	q := Quota{PerMinute: 60, PerDay: 1000}
	for tenantID := range int64(5) {
		takeN(t, l, tenantID, q, noon, 10)
	}
	var lost atomic.Int64
	lose := func(cmd redis.Cmder) error {
		if addsBack(cmd) && lost.Add(1) <= 20 {
			return errors.New("the reply was lost")
		}
		return nil
	}
	reply.after.Store(&lose)
	server.Start()
	mendedAll(t, l)
	if lost.Load() < 25 { // 20 in vain, and one for each tenant
		t.Errorf("%d replies lost: this test has shown nothing", lost.Load())
	}
	for tenantID := range int64(5) {
		if got := usedInRedis(t, client, tenantID, noon); got != (used{10, 10, 0}) {
			t.Errorf("tenant %d used %+v, want 10 in both", tenantID, got)
		}
	}
}

// While some requests are decided without Redis and Redis comes and goes, nothing is lost between the two.
func TestNothingIsForgottenUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l, client := newRedisClient(t, server.URL, RedisOptions{Timeout: patient.Timeout, Log: zerolog.Nop(), ProbeEvery: time.Millisecond})
	var reply interceptor
	client.AddHook(&reply)
	var n atomic.Int64
	fail := func(redis.Cmder) error {
		if n.Add(1)%7 == 0 {
			return errors.New("the reply was lost")
		}
		return nil
	}
	reply.after.Store(&fail)
	q := Quota{PerMinute: 2000, PerDay: 10_000}
	admitted := contest(t, []Limiter{l, l}, q)
	reply.after.Store(nil)
	mendedAll(t, l)
	// The replies that were lost had counted too.
	if got := usedInRedis(t, client, 1, noon); got.minute != got.day || got.minute < admitted || admitted > q.PerMinute {
		t.Errorf("%d of %d admitted, and Redis knows of %+v", admitted, q.PerMinute, got)
	}
}

func TestRefundWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l, client := newRedisClient(t, server.URL, patient)
	q := Quota{PerMinute: 10, PerDay: 1000}
	byRedis := l.Take(t.Context(), claim(1, q), noon)
	server.Stop()
	l.Refund(t.Context(), Claim{TenantID: 1}, byRedis) // finds out; it cannot be made, and is not tried again
	if got := takeN(t, l, 1, q, noon, 20); got != 9 {
		t.Errorf("%d admitted, want 9", got)
	}
	l.Refund(t.Context(), Claim{TenantID: 1}, byRedis)
	if got := takeN(t, l, 1, q, noon, 20); got != 1 {
		t.Errorf("%d admitted after a refund, want 1", got)
	}
	server.Start()
	mendedAll(t, l)
	if got := usedInRedis(t, client, 1, noon); got != (used{10, 10, 0}) {
		t.Errorf("used: %+v, want 10 in both", got)
	}
}

func TestLateFailureSaysNothingOfNow(t *testing.T) {
	t.Parallel()
	l := newRedis(t, redistest.Shared(t), patient)
	began := l.changes.Load()
	l.lose(began, 1, errors.New("gone"))
	mendedAll(t, l)
	l.lose(began, 1, errors.New("gone, says a call of that time"))
	if degraded(l) {
		t.Error("a call that began before Redis came back made it degraded again")
	}
}

func TestCloseTellsRedis(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	_, client := newRedisClient(t, url, patient)
	l := NewRedis(client, RedisOptions{Timeout: patient.Timeout, ProbeEvery: time.Hour, Log: zerolog.Nop()})
	l.stop()
	<-l.stopped
	l.ledger.take(1, Quota{60, 1000}, minuteAt(1, noon), DayAt(noon), 1)
	l.Close()
	if got := usedInRedis(t, client, 1, noon); got != (used{1, 1, 0}) {
		t.Errorf("used: %+v, want 1 in both", got)
	}
}

func TestLedgerForgets(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for day := range int64(10) {
		for tenantID := range int64(1000) {
			l.take(tenantID+1000*day, Quota{60, 1000}, day*1440, day, 1)
		}
	}
	held := 0
	for i := range l.shards {
		held += len(l.shards[i].accounts)
	}
	if held > 2000 {
		t.Errorf("%d accounts are held, want those of two days, 2000", held)
	}
}
