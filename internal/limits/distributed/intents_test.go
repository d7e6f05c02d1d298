package distributed_test

import (
	"testing"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
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

// TestWriteInOneTrip: a request that writes makes one call to Redis: it is counted and announced by
// it. Its end makes none if another request follows soon.
func TestWriteInOneTrip(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), timeless())
	before := stampAt(t, l)
	calls := func() int64 { return l.calls.takes.Load() + l.calls.others.Load() }
	for n := range 3 {
		called := calls()
		d, announced := takeWrite(t, l, unlimited)
		if !d.Admitted || announced == nil {
			t.Fatalf("%+v, announced %v", d, announced)
		}
		assert.Equal(t, stampAt(t, l), 0, "stamp when a write was admitted")
		w := beginWrite(t, l)
		announced.Release()
		assert.Equal(t, stampAt(t, l), 0, "stamp during the write")
		_ = w.Commit()
		s := stampAt(t, l)
		assert.Equal(t, s, before+freshness.Stamp(1+n), "the stamp after write", n+1)
		// The removal made no call of its own, unless the machine was slow.
		made := calls() - called
		assert.True(t, made == 4 || made == 5, made, "calls to Redis, want that of the write and of 3 lists")
	}
}

// TestWritesShareAnIntent: while one is there, further writes of the tenant need no other. The
// catalogue has a stamp when all have ended.
func TestWritesShareAnIntent(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), timeless())
	before := stampAt(t, l)
	var announced []limits.Announced
	var writes []*freshness.Write
	others := l.calls.others.Load()
	for range 5 {
		_, a := takeWrite(t, l, unlimited)
		announced, writes = append(announced, a), append(writes, beginWrite(t, l))
	}
	made := l.calls.others.Load() - others
	assert.True(t, made <= 0, made, "calls beside Take")
	for i := range writes {
		assert.Equal(t, stampAt(t, l), 0, "stamp when", i, "of", len(writes), "writes have ended")
		announced[i].Release()
		_ = writes[i].Commit()
	}
	assert.Equal(t, stampAt(t, l), before+1, "stamp after", before)
}

// TestSharedAgain: an intent that is over and waits to be removed stays if another write shares it
// before.
func TestSharedAgain(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), timeless())
	before := stampAt(t, l)
	for range 20 {
		_ = beginWrite(t, l).Commit()
		second := beginWrite(t, l)
		assert.Equal(t, stampAt(t, l), 0, "the stamp during a write that shares an intent")
		_ = second.Commit()
		s := freshness.Stamp(0)
		wait.Until(t, "a stamp after the write", func() bool { s = stampAt(t, l); return s != 0 })
		assert.True(t, s > before, "stamp", s, "after the write,", before, "before")
		before = s
	}
}

// TestAbandonedIntentStays: the intent of a write of unknown outcome is not removed, also if
// another write shares it.
func TestAbandonedIntentStays(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), timeless())
	first, second := beginWrite(t, l), beginWrite(t, l)
	first.Abandon()
	_ = second.Commit()
	l.Limiter.Invalidator().RemoveOver()
	assert.Equal(t, stampAt(t, l), 0, "stamp although nobody knows the outcome of a write")
	beginWrite(t, l).Abandon()
	l.Limiter.Invalidator().RemoveOver()
	assert.Equal(t, stampAt(t, l), 0, "stamp although nobody knows the outcome of two writes")
}

// TestRefusedWrite: what is refused announces nothing, and a request that fails before it writes
// ends what was announced.
func TestRefusedWrite(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), patient)
	q := plans.Quota{PerMinute: 1, PerDay: 10}
	_, announced := takeWrite(t, l, q)
	announced.Release()
	before := stampAt(t, l)
	assert.True(t, before != 0, "no stamp after a request that did not write")
	d, a := takeWrite(t, l, q)
	assert.True(t, !d.Admitted && a == nil, d, "announced", a)
	assert.Equal(t, stampAt(t, l), before, "stamp after a refused write")
}

// TestIntentsEndSoon: an intent is removed without another request, and when the server stops. One
// whose write has an unknown outcome was left before, and is still there.
func TestIntentsEndSoon(t *testing.T) {
	t.Parallel()
	a, b := newTestCluster().two(t, redistest.Shared(t), patient)
	end := func() {
		_, announced := takeWrite(t, a, unlimited)
		write := beginWrite(t, a)
		announced.Release()
		_ = write.Commit()
	}
	unknown, err := a.BeginWrite(t.Context(), 2, freshness.Changes)
	assert.NoError(t, err)
	unknown.Abandon()
	end()
	wait.Until(t, "a stamp on the other server", func() bool { return stampAt(t, b) != 0 })
	stays := b.Take(t.Context(), limitstest.Claim(2, unlimited), limitstest.Noon).Stamp
	assert.Equal(t, stays, 0, "stamp of a catalogue whose intent ends by itself")
	end()
	a.stop()
	assert.True(t, stampAt(t, b) != 0, "the intent of a server that stopped is there")
}

// TestLastIntentIsRemoved: one that is over while others are being removed, and the server stops
// meanwhile.
func TestLastIntentIsRemoved(t *testing.T) {
	t.Parallel()
	a, b := newTestCluster().two(t, redistest.Shared(t), patient)
	write := beginWrite(t, a)
	stopping := make(chan struct{})
	meanwhile := func() error {
		a.calls.takeFails.Store(nil)
		_ = beginWrite(t, a).Commit()
		go func() { close(stopping); a.stop() }()
		<-stopping
		time.Sleep(20 * time.Millisecond) // It has been told to stop by then.
		return nil
	}
	a.calls.takeFails.Store(&meanwhile)
	_ = write.Commit()
	<-stopping
	a.stop()
	assert.True(t, stampAt(t, b) != 0, "an intent is left")
}
