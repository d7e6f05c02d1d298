package distributed_test

import (
	"sync"
	"testing"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// takeWrite decides over a request that will write.
func takeWrite(t *testing.T, l *testServer, q plans.Quota) (limits.Decision, limits.Announced) {
	t.Helper()
	return l.TakeWrite(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
}

// timeless is patient, on a clock that stands still: intents are never too old to be shared.
func timeless() distributed.Options {
	o, now := patient, time.Now()
	o.Clock = func() time.Time { return now }
	return o
}

// TestWriteInOneTrip: a request that writes makes one call to Redis: it is counted and announced by it. Its end makes none if another request
// follows soon.
func TestWriteInOneTrip(t *testing.T) {
	t.Parallel()
	l := newTestCluster().server(t, redistest.Shared(t), timeless())
	decides(t, l)
	before := stampAt(t, l)
	calls := func() int64 { return l.calls.takes.Load() + l.calls.others.Load() }
	for n := range 3 {
		called := calls()
		d, announced := takeWrite(t, l, unlimited)
		if !d.Admitted || announced == nil {
			t.Fatalf("%+v, announced %v", d, announced)
		}
		if s := stampAt(t, l); s != 0 {
			t.Errorf("stamp %d when a write was admitted", s)
		}
		w := beginWrite(t, l)
		announced.Release()
		if s := stampAt(t, l); s != 0 {
			t.Errorf("stamp %d during the write", s)
		}
		_ = w.Commit()
		s := stampAt(t, l)
		if s != before+freshness.Stamp(1+n) {
			t.Errorf("stamp %d after write %d, and it was %d before the first", s, n+1, before)
		}
		// The removal made no call of its own, unless the machine was slow.
		if made := calls() - called; made != 4 && made != 5 {
			t.Errorf("%d calls to Redis, want that of the write and of 3 lists", made)
		}
	}
}

// TestWritesShareAnIntent: while one is there, further writes of the tenant need no other. The catalogue has a stamp when all have ended.
func TestWritesShareAnIntent(t *testing.T) {
	t.Parallel()
	l := newTestCluster().server(t, redistest.Shared(t), timeless())
	decides(t, l)
	before := stampAt(t, l)
	var announced []limits.Announced
	var writes []*freshness.Write
	others := l.calls.others.Load()
	for range 5 {
		_, a := takeWrite(t, l, unlimited)
		announced, writes = append(announced, a), append(writes, beginWrite(t, l))
	}
	if made := l.calls.others.Load() - others; made > 0 {
		t.Errorf("%d calls beside Take", made)
	}
	for i := range writes {
		if s := stampAt(t, l); s != 0 {
			t.Errorf("stamp %d when %d of %d writes have ended", s, i, len(writes))
		}
		announced[i].Release()
		_ = writes[i].Commit()
	}
	if s := stampAt(t, l); s != before+1 {
		t.Errorf("stamp %d after %d, want the next one", s, before)
	}
}

// TestSharedAgain: an intent that is over and waits to be removed stays if another write shares it before.
func TestSharedAgain(t *testing.T) {
	t.Parallel()
	l := newTestCluster().server(t, redistest.Shared(t), timeless())
	decides(t, l)
	before := stampAt(t, l)
	for range 20 {
		_ = beginWrite(t, l).Commit()
		second := beginWrite(t, l)
		if s := stampAt(t, l); s != 0 {
			t.Fatalf("stamp %d during a write that shares an intent", s)
		}
		_ = second.Commit()
		s := freshness.Stamp(0)
		wait.Until(t, "a stamp after the write", func() bool { s = stampAt(t, l); return s != 0 })
		if s <= before {
			t.Fatalf("stamp %d after the write, %d before", s, before)
		}
		before = s
	}
}

// TestAbandonedIntentStays: the intent of a write of unknown outcome is not removed, also if another write shares it.
func TestAbandonedIntentStays(t *testing.T) {
	t.Parallel()
	l := newTestCluster().server(t, redistest.Shared(t), timeless())
	decides(t, l)
	first, second := beginWrite(t, l), beginWrite(t, l)
	first.Abandon()
	_ = second.Commit()
	l.Limiter.Invalidator().RemoveOver()
	if s := stampAt(t, l); s != 0 {
		t.Errorf("stamp %d although nobody knows the outcome of a write", s)
	}
	beginWrite(t, l).Abandon()
	l.Limiter.Invalidator().RemoveOver()
	if s := stampAt(t, l); s != 0 {
		t.Errorf("stamp %d although nobody knows the outcome of two writes", s)
	}
}

// TestRefusedWrite: what is refused announces nothing, and a request that fails before it writes ends what was announced.
func TestRefusedWrite(t *testing.T) {
	t.Parallel()
	w := newTestCluster()
	l := w.server(t, redistest.Shared(t), patient)
	decides(t, l)
	q := plans.Quota{PerMinute: 1, PerDay: 10}
	_, announced := takeWrite(t, l, q)
	announced.Release()
	before := stampAt(t, l)
	if before == 0 {
		t.Error("no stamp after a request that did not write")
	}
	if d, a := takeWrite(t, l, q); d.Admitted || a != nil {
		t.Errorf("%+v, announced %v", d, a)
	}
	if s := stampAt(t, l); s != before {
		t.Errorf("stamp %d after a refused write, %d before", s, before)
	}
}

// TestIntentsEndSoon: an intent is removed without another request, and when the server stops.
func TestIntentsEndSoon(t *testing.T) {
	t.Parallel()
	url, w := redistest.Shared(t), newTestCluster()
	a, b := w.server(t, url, patient), w.server(t, url, patient)
	decides(t, a, b)
	end := func() {
		_, announced := takeWrite(t, a, unlimited)
		write := beginWrite(t, a)
		announced.Release()
		_ = write.Commit()
	}
	end()
	began := time.Now()
	wait.Until(t, "a stamp on the other server", func() bool { return stampAt(t, b) != 0 })
	if took := time.Since(began); took > freshness.WriteIntentTTL/2 {
		t.Errorf("it took %v", took)
	}
	end()
	a.stop()
	if stampAt(t, b) == 0 {
		t.Error("the intent of a server that stopped is there")
	}
}

// TestConcurrentWrites: many writes at the same time, and lists beside them. There is a stamp in the end, and none during a write.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	url, w := redistest.Shared(t), newTestCluster()
	servers := []*testServer{w.server(t, url, patient), w.server(t, url, patient)}
	decides(t, servers...)
	var mu sync.Mutex
	// Each write makes the next state. acknowledged is the newest that was acknowledged, pages are the lists that are cached.
	committed, acknowledged, pages := 0, 0, map[freshness.Stamp]int{}
	cached := 0
	locked := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	var running sync.WaitGroup
	for i := range 16 {
		l := servers[i%2]
		running.Go(func() {
			for range 30 {
				_, announced := l.TakeWrite(t.Context(), limitstest.Claim(1, unlimited), limitstest.Noon)
				write, err := l.BeginWrite(t.Context(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				var state, known int
				locked(func() { committed++; state = committed })
				_ = write.Commit()
				if announced != nil {
					announced.Release()
				}
				locked(func() { acknowledged = max(acknowledged, state); known = acknowledged })
				time.Sleep(time.Duration(state%5) * time.Millisecond) // calls come at any time
				s := l.Take(t.Context(), limitstest.Claim(1, unlimited), limitstest.Noon).Stamp
				locked(func() {
					page, ok := pages[s]
					switch {
					case s == 0:
					case !ok:
						pages[s] = committed
					case page < known:
						t.Errorf("stamp %d has state %d, and %d was known", s, page, known)
					default:
						cached++
					}
				})
			}
		})
	}
	running.Wait()
	for _, l := range servers {
		wait.Until(t, "a stamp after all writes", func() bool { return stampAt(t, l) != 0 })
	}
	t.Logf("%d lists by a stamp that there was, %d stamps", cached, len(pages))
}

// TestWriteOfAnOlderServer: if another server makes the call that knows nothing of writes, the write is announced by a call of its own.
func TestWriteOfAnOlderServer(t *testing.T) {
	t.Parallel()
	url, w := redistest.Shared(t), newTestCluster()
	l := w.server(t, url, patient)
	decides(t, l)
	l.calls.forgetWrites.Store(true)
	_, announced := takeWrite(t, l, unlimited)
	if announced != nil {
		t.Fatal("announced although the call left no intent")
	}
	write := beginWrite(t, l)
	if s := stampAt(t, l); s != 0 {
		t.Errorf("stamp %d during a write", s)
	}
	_ = write.Commit()
	wait.Until(t, "a stamp after the write", func() bool { return stampAt(t, l) != 0 })
}
