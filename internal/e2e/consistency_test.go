package e2e_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// listsFromMemory is the metric of lists that were served from the cache.
const listsFromMemory = "petstore_list_cache_hits_total"

// staleSeed makes the schedule of faults the same in every run.
const staleSeed = 20261120

// TestNeverStale runs writers and readers on three servers with one Redis, while servers are killed
// during writes and Redis is killed, paused and flushed. No list is older than a list that any
// reader has seen, or than an acknowledged write.
func TestNeverStale(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	w := newRegisterLoad(newDeploymentOn(t, storetest.New(t).URL, redis.URL), 3, 4)
	end := func(how func(*server)) fault {
		return func(rnd *rand.Rand) { w.replace(rnd.IntN(3), how) }
	}
	outage := func(lasts time.Duration, stop, start func()) fault {
		return func(*rand.Rand) {
			stop()
			time.Sleep(lasts) // the load lasts that long
			start()
			w.awaitRedis(12 * time.Second)
		}
	}
	fromMemory := w.steady(true)
	lose, pause := outage(
		200*time.Millisecond,
		redis.Stop,
		redis.Start,
	), outage(
		400*time.Millisecond,
		redis.Pause,
		redis.Resume,
	)
	flush := outage(0, redis.Flush, func() {})
	// If a server is killed and Redis lost in the same minute, limits deny everything in that
	// minute. So test them separately first.
	w.run(6, duration(6*time.Second), staleSeed, pause, flush, lose)
	w.run(6, duration(3*time.Second), staleSeed, end(killed), end(stopped))
	w.run(6, duration(2*time.Second), staleSeed, lose, end(killed))
	w.show(t, "three servers, Redis and servers lost in turn")
	w.want(fromMemory)
}

// TestNeverStaleSoleServer runs a server without Redis, which may serve cached lists while it is
// the sole one, and another that is started, stopped and killed. None of their lists is stale.
func TestNeverStaleSoleServer(t *testing.T) {
	t.Parallel()
	w := newRegisterLoad(newDeployment(t, false), 1, 4)
	fromMemory := w.steady(false)
	first := w.servers[0].Load()
	another := func(end func(*server)) fault {
		return func(*rand.Rand) {
			s := w.d.serve()
			w.servers[0].Store(s)
			time.Sleep(300 * time.Millisecond) // the fault lasts that long, and the pause after it
			w.servers[0].Store(first)
			time.Sleep(300 * time.Millisecond) // the fault lasts that long, and the pause after it
			end(s)
			time.Sleep(time.Second) // the fault lasts that long
		}
	}
	w.run(6, duration(8*time.Second), staleSeed, another(stopped), another(killed), func(*rand.Rand) {
		w.replace(0, killed)
		first = w.servers[0].Load()
	})
	w.show(t, "a sole server, and others that come and go")
	w.want(fromMemory)
}

// TestStaleListsAreFound plants a fault: servers do not invalidate lists. The same readers and
// writers must find it.
func TestStaleListsAreFound(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	d.petstore = planted(t)
	w := newRegisterLoad(d, 3, 4, "TEST_STALE=yes")
	wait.Until(t, "a stale list of programs that were made to serve them", func() bool {
		w.run(6, 300*time.Millisecond, staleSeed)
		return w.stale.Load() > 0
	})
	w.show(t, "three servers that do not invalidate")
}

func stopped(s *server) { s.Stop(syscall.SIGTERM) }

// duration returns short in make test and two minutes in make soak.
func duration(short time.Duration) time.Duration {
	if long() {
		return 2 * time.Minute
	}
	return short
}

// awaitRedis waits until Redis is up on all servers, at most that long: a Redis that was lost often
// is trusted late.
func (w *registerLoad) awaitRedis(most time.Duration) {
	// between two looks, at most that long
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all := true
		for i := range w.servers {
			all = all && w.servers[i].Load().Ready().Redis == "up"
		}
		if all {
			return
		}
	}
}

// steady reads and writes without faults and returns how many lists were served from the cache. It
// first waits for the servers to agree on Redis, or on the sole server.
func (w *registerLoad) steady(redis bool) float64 {
	w.d.t.Helper()
	if redis {
		w.awaitRedis(20 * time.Second)
	}
	wait.Until(w.d.t, "a list from memory", func() bool {
		w.run(2, 300*time.Millisecond, staleSeed)
		reading, cancel := context.WithTimeout(w.d.t.Context(), 300*time.Millisecond)
		defer cancel()
		w.read(reading, rand.New(rand.NewPCG(staleSeed, 0))) // Nothing changes meanwhile.
		return w.hits() > 0
	})
	w.run(6, time.Second, staleSeed)
	return w.hits()
}

func (w *registerLoad) want(fromMemory float64) {
	w.d.t.Helper()
	w.d.t.Logf("without faults %.0f lists came from memory", fromMemory)
	assert.True(w.d.t, fromMemory != 0, "no list came from the cache, so the test shows nothing")
	n := w.stale.Load()
	assert.True(w.d.t, n <= 0, n, "lists were stale, the first", w.first)
	if w.writes.Load() == 0 || w.reads.Load() == 0 {
		w.d.t.Error("nothing was written or read")
	}
}
