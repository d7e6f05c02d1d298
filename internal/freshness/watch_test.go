package freshness

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
)

// fakeTransactions numbers transactions from 1. Those in running have not ended.
type fakeTransactions struct {
	mu      sync.Mutex
	last    int64
	running map[int64]bool
	down    bool
}

func (f *fakeTransactions) UnderWay(_ context.Context, since int64) (next int64, changing bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return 0, false, errors.New("down")
	}
	for n := range f.running {
		changing = changing || since == 0 || n < since
	}
	return f.last + 1, changing, nil
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

// watchOf runs a test with a Watch that has looked, on a clock of its own.
func watchOf(t *testing.T, test func(t *testing.T, w *Watch, f *fakeTransactions)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransactions{running: map[int64]bool{}}
		w := NewWatch(f)
		assert.True(t, !w.Clear(), "clear before it has looked")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		assert.True(t, w.Clear(), "not clear although nothing is under way")
		test(t, w, f)
		cancel()
		assert.Equal(t, <-done, nil)
	})
}

// TestOldWrite: from the end of a write's intent until its transaction has ended, no list may be
// cached, whoever made it and whenever the watch looks. Short transactions in any number hold up
// nobody.
func TestOldWrite(t *testing.T) {
	for began := time.Duration(0); began < watchEvery; began += watchEvery / 7 {
		watchOf(t, func(t *testing.T, w *Watch, f *fakeTransactions) {
			time.Sleep(time.Minute + began)
			intentEnds := time.Now().Add(WriteIntentTTL * 9 / 10)
			for range 100 {
				end := f.begin()
				time.Sleep(watchEvery - time.Millisecond)
				assert.True(t, w.Clear(), "not clear for the sake of a short transaction")
				end()
				if time.Since(intentEnds) > 0 {
					break
				}
			}
			announced := time.Now()
			time.Sleep(MaxWrite - time.Millisecond)
			end := f.begin()
			time.Sleep(time.Until(announced.Add(WriteIntentTTL * 9 / 10)))
			for range 100 {
				assert.True(t, !w.Clear(), "clear", time.Since(announced), "after the write was announced")
				time.Sleep(watchEvery / 3)
			}
			end()
			time.Sleep(watchEvery)
			synctest.Wait()
			assert.True(t, w.Clear(), "not clear after it has ended")
		})
	}
}

// TestWatchWithoutTheStore: what is not known is not clear. Afterwards any transaction may be the
// old one, for as long as one that began later would be young.
func TestWatchWithoutTheStore(t *testing.T) {
	watchOf(t, func(t *testing.T, w *Watch, f *fakeTransactions) {
		end := f.begin()
		time.Sleep(oldAfter - watchEvery)
		f.set(true)
		time.Sleep(watchTTL)
		assert.True(t, !w.Clear(), "clear although the store does not answer")
		time.Sleep(time.Minute)
		f.set(false)
		for range 100 {
			time.Sleep(watchEvery / 3)
			assert.True(t, !w.Clear(), "clear although a transaction has been under way for a minute")
		}
		end()
		time.Sleep(watchEvery)
		synctest.Wait()
		assert.True(t, w.Clear(), "not clear although nothing is under way")
	})
}
