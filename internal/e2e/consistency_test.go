package e2e_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans/redistest"
	"petstore.example/internal/store/storetest"
)

// listsFromMemory counts the lists that a server answered without asking Postgres for rows.
const listsFromMemory = "petstore_list_cache_hits_total"

// staleSeed makes the schedule of faults the same in every run.
const staleSeed = 20261120

// TestNeverStale has writers and readers on three servers with one Redis, while servers are killed in mid-write and Redis
// is killed, frozen and emptied: no list is older than one that anybody has seen or than a write that was acknowledged.
func TestNeverStale(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	w := newRegisterLoad(newDeploymentOn(t, storetest.New(t).URL, redis.URL), 3, 4)
	end := func(how func(*server)) fault {
		return func(rnd *rand.Rand) { w.replace(rnd.IntN(3), how) }
	}
	away := func(lasts time.Duration, away, back func()) fault {
		return func(*rand.Rand) {
			away()
			time.Sleep(lasts)
			back()
			w.awaitRedis(12 * time.Second)
		}
	}
	fromMemory := w.steady(true)
	lose, freeze := away(200*time.Millisecond, redis.Stop, redis.Start), away(400*time.Millisecond, redis.Pause, redis.Resume)
	flush := away(0, redis.Flush, func() {})
	// When a server was killed and Redis is lost in the same minute, nothing more is served in it. So they come apart first.
	w.run(6, duration(9*time.Second), staleSeed, freeze, flush, lose)
	w.run(6, duration(5*time.Second), staleSeed, end(killed), end(stopped))
	w.run(6, duration(3*time.Second), staleSeed, lose, end(killed))
	w.show(t, "three servers, Redis and servers lost in turn")
	w.want(fromMemory)
}

// TestNeverStaleAlone has a server without Redis, which may serve lists from memory while it is alone on its database,
// and another that comes and goes, and is killed: none of their lists is stale.
func TestNeverStaleAlone(t *testing.T) {
	t.Parallel()
	w := newRegisterLoad(newDeployment(t, false), 1, 4)
	fromMemory := w.steady(false)
	first := w.servers[0].Load()
	another := func(end func(*server)) fault {
		return func(*rand.Rand) {
			s := w.d.serve()
			w.servers[0].Store(s)
			time.Sleep(300 * time.Millisecond)
			w.servers[0].Store(first)
			time.Sleep(300 * time.Millisecond)
			end(s)
			time.Sleep(time.Second)
		}
	}
	w.run(6, duration(12*time.Second), staleSeed, another(stopped), another(killed), func(*rand.Rand) {
		w.replace(0, killed)
		first = w.servers[0].Load()
	})
	w.show(t, "a server alone, and others that come and go")
	w.want(fromMemory)
}

// TestStaleListsAreFound plants a fault: programs whose writers tell nobody. The same readers and writers must find it.
func TestStaleListsAreFound(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	d.petstore = buildWith(t, "internal/api/invalidate.go", "if c.Invalidator == nil {", "if c.Invalidator == nil || c.Invalidator != nil {")
	w := newRegisterLoad(d, 3, 4)
	w.run(6, 6*time.Second, staleSeed)
	w.show(t, "three servers whose writers tell nobody")
	if w.stale.Load() == 0 {
		t.Error("no stale list was found, although the programs were made to serve them")
	}
}

func stopped(s *server) { s.stop(syscall.SIGTERM) }

// duration is that of make test, or two minutes of the long form.
func duration(short time.Duration) time.Duration {
	if long() {
		return 2 * time.Minute
	}
	return short
}

// awaitRedis waits until all servers have Redis, but not for ever: one that was lost often is trusted late.
func (w *registerLoad) awaitRedis(most time.Duration) {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all := true
		for i := range w.servers {
			all = all && w.servers[i].Load().ready().Redis == "up"
		}
		if all {
			return
		}
	}
}

// steady reads and writes for a moment without faults, and returns how many lists were answered from memory. Before it, a
// server alone has to be so for long enough to know.
func (w *registerLoad) steady(redis bool) float64 {
	w.d.t.Helper()
	if redis {
		w.awaitRedis(20 * time.Second)
	}
	eventually(w.d.t, 30*time.Second, "a list from memory", func() bool {
		w.run(2, 300*time.Millisecond, staleSeed)
		return w.hits() > 0
	})
	w.run(6, time.Second, staleSeed)
	return w.hits()
}

func (w *registerLoad) want(fromMemory float64) {
	w.d.t.Helper()
	w.d.t.Logf("without faults %.0f lists came from memory", fromMemory)
	if fromMemory == 0 {
		w.d.t.Error("no list came from memory, so nothing was shown of those")
	}
	if n := w.stale.Load(); n > 0 {
		w.d.t.Errorf("%d lists were stale, the first: %s", n, w.first)
	}
	if w.writes.Load() == 0 || w.reads.Load() == 0 {
		w.d.t.Error("nothing was written or read")
	}
}
