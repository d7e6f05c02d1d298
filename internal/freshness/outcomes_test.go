package freshness

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeTransactions numbers transactions from 1. Those in running have not ended.
type fakeTransactions struct {
	mu      sync.Mutex
	last    int64
	running map[int64]bool
	down    bool
}

func (f *fakeTransactions) Next(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return 0, errors.New("down")
	}
	f.last++
	return f.last, nil
}

func (f *fakeTransactions) Oldest(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return 0, errors.New("down")
	}
	oldest := f.last + 1
	for n := range f.running {
		oldest = min(oldest, n)
	}
	return oldest, nil
}

// begin starts a transaction; the returned func ends it.
func (f *fakeTransactions) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	n := f.last
	f.running[n] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, n)
	}
}

func (f *fakeTransactions) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// outcomesOf runs a test with a Memory of a sole server behind Outcomes.
func outcomesOf(t *testing.T, test func(t *testing.T, m *Memory, o *Outcomes, f *fakeTransactions)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, f := NewMemory(func() (int64, bool) { return 1, true }), &fakeTransactions{running: map[int64]bool{}}
		o := NewOutcomes(m, f)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- o.Run(ctx) }()
		test(t, m, o, f)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func abandon(t *testing.T, o *Outcomes, tenantID int64) {
	t.Helper()
	w, err := o.BeginWrite(t.Context(), tenantID)
	if err != nil {
		t.Fatal(err)
	}
	w.Abandon()
}

// TestUnknownOutcome: a catalogue has no stamp until the transaction that may have written to it has ended, and soon after it has.
func TestUnknownOutcome(t *testing.T) {
	for _, lasts := range []time.Duration{0, time.Second, WriteIntentTTL, time.Minute} {
		outcomesOf(t, func(t *testing.T, m *Memory, o *Outcomes, f *fakeTransactions) {
			before := m.Stamp(1)
			end := f.begin()
			abandon(t, o, 1)
			for begin := time.Now(); time.Since(begin) < lasts; time.Sleep(100 * time.Millisecond) {
				if s := m.Stamp(1); s != 0 {
					t.Fatalf("stamp %d %v after it was abandoned", s, time.Since(begin))
				}
			}
			end()
			begin := time.Now()
			for m.Stamp(1) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(begin); took > WriteIntentTTL+3*outcomeEvery-min(lasts, WriteIntentTTL) || m.Stamp(1) == before {
				t.Errorf("stamp %d, before %d, %v after the end of a transaction of %v", m.Stamp(1), before, took, lasts)
			}
			if m.Stamp(2) == 0 {
				t.Error("another catalogue has no stamp")
			}
		})
	}
}

// TestUnknownOutcomeWhileTheStoreIsDown: what was sent before the store was down may run when it is back.
func TestUnknownOutcomeWhileTheStoreIsDown(t *testing.T) {
	outcomesOf(t, func(t *testing.T, m *Memory, o *Outcomes, f *fakeTransactions) {
		abandon(t, o, 1)
		f.set(true)
		time.Sleep(time.Minute)
		f.set(false)
		time.Sleep(settledAfter - outcomeEvery)
		end := f.begin() // the delayed statement
		time.Sleep(time.Minute)
		if s := m.Stamp(1); s != 0 {
			t.Errorf("stamp %d while its transaction is under way", s)
		}
		end()
		time.Sleep(2 * outcomeEvery)
		if m.Stamp(1) == 0 {
			t.Error("no stamp after it has ended")
		}
	})
}

// TestSeveralUnknownOutcomes: the last one counts.
func TestSeveralUnknownOutcomes(t *testing.T) {
	outcomesOf(t, func(t *testing.T, m *Memory, o *Outcomes, f *fakeTransactions) {
		abandon(t, o, 1)
		time.Sleep(WriteIntentTTL - time.Second)
		end := f.begin()
		abandon(t, o, 1)
		time.Sleep(time.Minute)
		if s := m.Stamp(1); s != 0 {
			t.Errorf("stamp %d while the second is under way", s)
		}
		end()
		time.Sleep(2 * outcomeEvery)
		if m.Stamp(1) == 0 || o.count() != 0 {
			t.Error("no stamp after both have ended")
		}
	})
}

// deaf is an Invalidator that can't announce anything while it is down. A write that ends then is as one whose intent ran out before.
type deaf struct {
	inner *Memory
	down  atomic.Bool
}

func (d *deaf) BeginWrite(ctx context.Context, tenantID int64) (*Write, error) {
	if d.down.Load() {
		return nil, errors.New("down")
	}
	w, err := d.inner.BeginWrite(ctx, tenantID)
	return NewWrite(func(bool) error {
		_ = w.Commit()
		if d.down.Load() {
			return errors.New("late, and down")
		}
		return nil
	}), err
}

// TestLateAndNotAnnounced: a write that ended late, and could not be announced again, is announced as soon as that succeeds. Otherwise a
// list that was cached before it would be served until the next write.
func TestLateAndNotAnnounced(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *Write){
		"committed": func(t *testing.T, w *Write) {
			if w.Commit() == nil {
				t.Error("no error although readers don't know of the write")
			}
		},
		"abandoned": func(_ *testing.T, w *Write) { w.Abandon() },
	} {
		outcomesOf(t, func(t *testing.T, m *Memory, o *Outcomes, _ *fakeTransactions) {
			d := &deaf{inner: m}
			o.inner = d
			w, err := o.BeginWrite(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			d.down.Store(true)
			end(t, w)
			time.Sleep(time.Minute)
			stale := m.Stamp(1)
			if stale == 0 {
				t.Fatalf("%s: the write is announced", name)
			}
			d.down.Store(false)
			time.Sleep(3 * outcomeEvery)
			if s := m.Stamp(1); s == 0 || s == stale || o.count() != 0 {
				t.Errorf("%s: stamp %d, %d before the write was announced again; %d are unknown", name, s, stale, o.count())
			}
		})
	}
}
