package plans

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/plans/redistest"
)

func TestServersShareWhatRemains(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	const n = 3
	o := RedisOptions{Timeout: patient.Timeout, Log: zerolog.Nop(), Servers: func() int { return n }}
	q := Quota{PerMinute: 100, PerDay: 1000}
	var limiters []*Redis
	for range n {
		limiters = append(limiters, newRedis(t, server.URL, o))
	}
	takeN(t, limiters[0], 1, q, noon, 38)
	for _, l := range limiters { // they see 39, 40 and 41 used
		takeN(t, l, 1, q, noon, 1)
	}
	server.Stop()
	var known, unknown int64
	for i, l := range limiters {
		got := takeN(t, l, 1, q, noon, 100)
		// A third of what it saw remaining, of 60 and of 59; the first has had more than a third of the limit already.
		if most := []int64{0, 20, 19}[i]; got != most {
			t.Errorf("server %d admitted %d without Redis, want its share of %d", i, got, most)
		}
		known += got
		unknown += takeN(t, l, 2, q, noon, 100)
	}
	if unknown != 99 {
		t.Errorf("all admitted %d of a tenant they had not seen, want 99", unknown)
	}
	next := noon.Add(time.Minute)
	if got := takeN(t, limiters[0], 1, q, next, 100); got != 33 {
		t.Errorf("in the next minute %d admitted, want a third of the limit", got)
	}

	server.Start() // empty
	mendedAll(t, limiters...)
	_, client := newRedisClient(t, server.URL, patient)
	if got := usedInRedis(t, client, 1, next); got != (used{minute: 33, day: 41 + known + 33}) {
		t.Errorf("used by tenant 1: %+v, want 33 and %d", got, 41+known+33)
	}
	if got := usedInRedis(t, client, 2, noon); got != (used{minute: 99, day: 99}) {
		t.Errorf("used by tenant 2: %+v, want 99 in both", got)
	}
}

// A Redis that comes back empty is told what it knew, also of tenants that were away like itself, by servers that had
// seen more or less of it, in whatever order.
func TestRedisComesBackEmpty(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	o := RedisOptions{Timeout: patient.Timeout, Log: zerolog.Nop(), Servers: func() int { return 3 }}
	q := Quota{PerMinute: 100, PerDay: 1000}
	var limiters []*Redis
	for i := range 3 {
		limiters = append(limiters, newRedis(t, server.URL, o))
		for tenantID := range int64(10) {
			takeN(t, limiters[i], tenantID, q, noon, 20) // the servers have seen 20, 40 and 60
		}
	}
	server.Stop()
	for i, l := range limiters {
		for tenantID := range int64(5) {
			takeN(t, l, tenantID, q, noon, i+1)
		}
		takeN(t, l, 99, q, noon, 1) // finds out, and is another tenant
	}
	server.Start()
	mendedAll(t, limiters...)
	_, client := newRedisClient(t, server.URL, patient)
	for tenantID := range int64(5) {
		if got := usedInRedis(t, client, tenantID, noon); got != (used{66, 66, 0}) {
			t.Errorf("tenant %d, away with Redis and calling: used %+v, want 66 in both", tenantID, got)
		}
	}
	for tenantID := int64(5); tenantID < 10; tenantID++ {
		for _, i := range []int64{tenantID % 3, (tenantID + 1) % 3, (tenantID + 2) % 3} {
			takeN(t, limiters[i], tenantID, q, noon, 1)
			mendedAll(t, limiters[i])
		}
		if got := usedInRedis(t, client, tenantID, noon); got != (used{63, 63, 0}) {
			t.Errorf("tenant %d, quiet meanwhile: used %+v, want 63 in both", tenantID, got)
		}
	}
}

// A second outage, of a Redis that kept its counters, raises nothing, whichever servers knew it before.
func TestSecondOutageRaisesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	q := Quota{PerMinute: 1000, PerDay: 10_000}
	old := newRedis(t, server.URL, patient)
	takeN(t, old, 1, q, noon, 10)
	server.Stop()
	takeN(t, old, 1, q, noon, 10)
	server.Start()
	mendedAll(t, old)
	takeN(t, old, 1, q, noon, 10)
	young, client := newRedisClient(t, server.URL, patient)
	minute, day := minuteKey(1, minuteAt(1, noon)), dayKey(1, DayAt(noon))
	if n := client.Del(t.Context(), minute+":raised", day+":raised").Val(); n != 2 { // half a minute passes
		t.Errorf("%d counters were raised, want both", n)
	}
	takeN(t, young, 1, q, noon, 10)
	for _, l := range []*Redis{old, young} {
		l.lose(l.changes.Load(), 1, errors.New("gone for a moment"))
		takeN(t, l, 1, q, noon, 10)
	}
	mendedAll(t, old, young)
	takeN(t, old, 1, q, noon, 10)
	takeN(t, young, 1, q, noon, 10)
	if got := usedInRedis(t, client, 1, noon); got != (used{80, 80, 0}) {
		t.Errorf("used: %+v, want 80 in both", got)
	}
}

// Under even load two servers stay within the limit while Redis goes and comes back, whatever each saw last.
func TestEvenLoadStaysWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name       string
		away, back func(*redistest.Server)
	}{
		{"stopped", (*redistest.Server).Stop, (*redistest.Server).Start},
		{"frozen", (*redistest.Server).Freeze, (*redistest.Server).Thaw},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			o := RedisOptions{Timeout: time.Second, Log: zerolog.Nop(), Servers: func() int { return 2 }}
			limiters := []*Redis{newRedis(t, server.URL, o), newRedis(t, server.URL, o)}
			q := Quota{PerMinute: 600, PerDay: 10_000}
			var admitted atomic.Int64
			flood := func(requests int) int64 {
				before := admitted.Load()
				var callers sync.WaitGroup
				for i := range 64 {
					callers.Go(func() { admitted.Add(takeN(t, limiters[i%2], 1, q, noon, requests/64)) })
				}
				callers.Wait()
				return admitted.Load() - before
			}
			before := flood(256)
			how.away(server)
			during := flood(1024)
			how.back(server)
			eventually(t, "one of them decides by Redis again", func() bool { return !degraded(limiters[0]) || !degraded(limiters[1]) })
			early := flood(256)
			mendedAll(t, limiters...)
			late := flood(256)
			t.Logf("admitted %d, then without Redis %d, then %d and %d", before, during, early, late)
			if got := admitted.Load(); got > q.PerMinute || during == 0 {
				t.Errorf("admitted %d, the limit is %d", got, q.PerMinute)
			}
		})
	}
}

func TestShareFollowsThePlanAndTheMostServers(t *testing.T) {
	t.Parallel()
	l := newLedger()
	minute, day := minuteAt(1, noon), DayAt(noon)
	l.answered(1, minute, day, used{minute: 20, day: 20}, true)
	admitted := func(q Quota, servers int64) (n int64) {
		for range 1000 {
			if l.take(1, q, minute, day, servers).Admitted {
				n++
			}
		}
		return n
	}
	small, large := Quota{60, 1000}, Quota{300, 10_000}
	if l.take(2, small, minute, day, 1).Share {
		t.Error("a server that is alone says that it decided over a share")
	}
	if !l.take(2, small, minute, day, 2).Share {
		t.Error("one of two servers does not say that it decided over a share")
	}
	if got := admitted(small, 2); got != 20 {
		t.Errorf("%d admitted, want half of 40", got)
	}
	if got := admitted(small, 1); got != 0 {
		t.Errorf("%d more admitted after the other server died: it may have used its share", got)
	}
	if got := admitted(large, 2); got != 120 {
		t.Errorf("%d more admitted after an upgrade, want half of 280 less 20", got)
	}
	if got := admitted(small, 2); got != 0 {
		t.Errorf("%d more admitted after a downgrade", got)
	}
}

// Any number of callers may send what is owed at a time, and may hear of it in any order: it is settled once.
func TestABatchIsSettledOnce(t *testing.T) {
	t.Parallel()
	l := newLedger()
	q := Quota{PerMinute: 10, PerDay: 1000}
	minute, day := minuteAt(1, noon), DayAt(noon)
	var batches int64
	next := func() int64 { batches++; return batches }
	take := func(n int) {
		for range n {
			l.take(1, q, minute, day, 1)
		}
	}
	take(3)
	first, _ := l.debt(1, next)
	again, _ := l.debt(1, next)
	if first != again {
		t.Errorf("two callers send %+v and %+v, want the same", first, again)
	}
	take(2)
	l.settled(first, used{3, 3, 0})
	take(1)
	rest, owes := l.debt(1, next)
	l.settled(again, used{3, 3, 0})
	if want := (used{3, 3, 0}); !owes || rest.add != want || rest.sequence != 2 {
		t.Errorf("then it owes %+v, want %+v in batch 2", rest, want)
	}
	if again, _ = l.debt(1, next); again != rest {
		t.Errorf("after hearing of batch 1 again it sends %+v, want %+v", again, rest)
	}
	l.settled(rest, used{6, 6, 0})
	if rest, owes = l.debt(1, next); owes {
		t.Errorf("at the end it owes %+v", rest)
	}
}
