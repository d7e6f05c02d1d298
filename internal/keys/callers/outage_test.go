package callers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// outage is a fixture whose caller is cached, at the moment at which the feed is lost.
func outage(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Helper()
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.lose()
		test(t, f)
	})
}

// A caller is served from memory for freshFor after the feed's last proof and after its own
// look-up.
func TestWithoutTheFeed(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		time.Sleep(time.Hour)
		f.want(t, nil)
		f.wantQueries(t, 1)
		f.lose()
		f.set(func(c *keys.Caller) { c.PerMinute = 7 })
		time.Sleep(freshFor)
		assert.Equal(t, f.want(t, nil).PerMinute, 0, "looked up again", freshFor, "after a proof")
		time.Sleep(time.Nanosecond)
		assert.Equal(t, f.want(t, nil).PerMinute, 7, "not looked up again later")
		f.revoke()
		time.Sleep(freshFor - 1)
		f.want(t, nil)
		time.Sleep(time.Nanosecond)
		f.want(t, keys.ErrInvalidKey)
	})
}

// Whenever a request comes, a change that was acknowledged freshFor before it holds, although the
// feed has not told of it and died without a word. Only the first request waits for a proof.
func TestFeedDiesSilently(t *testing.T) {
	for after := time.Duration(0); after < 3*time.Second; after += 137 * time.Millisecond {
		bubble(t, func(t *testing.T, f fixture) {
			f.want(t, nil)
			f.silent.Store(true)
			begin := time.Now()
			time.Sleep(after)
			f.revoke()
			waits := 0
			for time.Since(begin) < after+time.Second {
				arrived := time.Now()
				_, err := f.Find(t.Context(), f.token, arrived)
				if took := time.Since(arrived); took > 0 {
					waits++
					assert.True(t, took <= proofWait, "a request waited for", took)
				}
				if err == nil && arrived.Sub(begin) > after+freshFor {
					t.Fatalf("revoked after %v, good after %v", after, arrived.Sub(begin))
				}
				time.Sleep(10 * time.Millisecond)
			}
			assert.True(t, waits <= 1, waits, "requests waited")
		})
	}
}

// After the process was frozen, the first request waits for the feed's proof, and for what it tells
// before. The others share the proof.
func TestPausedProcess(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.silent.Store(true)
		time.Sleep(3 * time.Second)
		f.revoke()
		arrived := time.Now()
		results := make(chan error)
		for range 100 {
			go func() {
				_, err := f.Find(t.Context(), f.token, arrived)
				results <- err
			}()
		}
		synctest.Wait()
		f.wantQueries(t, 1)
		f.KeyChanged(f.token.Digest().Prefix())
		f.FeedProven(arrived)
		for range 100 {
			if err := <-results; !errors.Is(err, keys.ErrInvalidKey) {
				t.Fatalf("a revoked key: %v", err)
			}
		}
		assert.Equal(t, time.Since(arrived), 0, "they waited for more than the proof")
	})
}

// A proof of before the freeze is none.
func TestOldProofIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.silent.Store(true)
		sent := time.Now()
		time.Sleep(3 * time.Second)
		f.revoke()
		result := f.start(t)
		f.FeedProven(sent)
		synctest.Wait()
		select {
		case err := <-result:
			t.Errorf("decided by an old proof: %v", err)
		default:
		}
		assert.ErrorIs(t, <-result, keys.ErrInvalidKey, "a revoked key")
	})
}

// A look-up under way that began before a change is not shared by a request that came long after
// it.
func TestOldQueryIsNotShared(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.lose()
		time.Sleep(time.Second)
		held := make(chan struct{})
		f.hold(held)
		early := f.start(t)
		f.hold(nil)
		f.revoke()
		time.Sleep(freshFor + 1)
		f.want(t, keys.ErrInvalidKey)
		close(held)
		if err := <-early; err != nil && !errors.Is(err, keys.ErrInvalidKey) && !errors.Is(err, keys.ErrUnavailable) {
			t.Errorf("the early look-up: %v", err)
		}
	})
}

// A proof ends the wait for a look-up of a caller that has not changed.
func TestProofEndsALookUp(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.lose()
		time.Sleep(time.Second)
		assert.True(t, !f.FeedHealthy(), "the feed is healthy a second after its last proof")
		f.hold(make(chan struct{}))
		slow := f.start(t)
		f.FeedProven(time.Now())
		assert.Equal(t, <-slow, nil)
		time.Sleep(loadTimeout)
	})
}

// One look-up that fails while the store answers others is no outage: a caller that may have
// changed is not served.
func TestOneFailureIsNoOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		second := newToken(t, keys.Live)
		f.add(second, 2)
		f.want(t, nil)
		f.wantOf(t, second, nil)
		f.lose()
		time.Sleep(time.Second)
		f.revoke()
		f.hold(make(chan struct{}))
		slow := f.start(t)
		f.hold(nil)
		time.Sleep(loadWait / 2)
		f.wantOf(t, second, nil)
		assert.ErrorIs(t, <-slow, keys.ErrUnavailable)
		time.Sleep(loadTimeout)
	})
}

// A known caller whose look-up is slow waits longer than others, while the store answers them: a
// busy machine is no reason for 503.
func TestKnownCallerWaitsForASlowLookup(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		second := newToken(t, keys.Live)
		f.add(second, 2)
		f.want(t, nil)
		f.wantOf(t, second, nil)
		f.lose()
		time.Sleep(time.Second)
		held := make(chan struct{})
		f.hold(held)
		began := time.Now()
		slow := f.start(t)
		f.hold(nil)
		time.Sleep(loadWait / 2)
		f.wantOf(t, second, nil)
		time.Sleep(knownWait - loadWait/2 - 1)
		close(held)
		if err := <-slow; err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestOutage(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		f.down(true)
		time.Sleep(staleTTL)
		f.want(t, nil)
		f.wantOf(t, newToken(t, keys.Live), keys.ErrUnavailable)
		time.Sleep(time.Nanosecond)
		f.want(t, keys.ErrUnavailable)

		f.down(false)
		f.revoke()
		f.restore()
		f.want(t, keys.ErrInvalidKey)
	})
}

// A store that is down is asked now and then, not by every request.
func TestOutageBacksOff(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		f.down(true)
		time.Sleep(2 * downFor)
		for range 1000 {
			f.want(t, nil)
		}
		synctest.Wait()
		f.wantQueries(t, 2)
		time.Sleep(retryInterval)
		f.want(t, nil)
		synctest.Wait()
		f.wantQueries(t, 3)
	})
}

// Of the look-ups of cached callers, only the one that finds out that the store hangs waits for it.
// When the store answers again, its result counts within about a second without the feed.
func TestCachedCallersDoNotWaitForAHangingStore(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		held := make(chan struct{})
		f.hold(held)
		time.Sleep(2 * downFor)
		start := time.Now()
		f.want(t, nil)
		assert.Equal(t, time.Since(start), loadWait, "the first took")
		for range 400 {
			start := time.Now()
			f.want(t, nil)
			if took := time.Since(start); took != 0 {
				t.Fatalf("a cached caller waited for %v", took)
			}
			time.Sleep(50 * time.Millisecond)
		}
		close(held)
		f.hold(nil)
		f.revoke()
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			_, _ = f.Lookup(t.Context(), f.token)
		}
		f.want(t, keys.ErrInvalidKey)
		time.Sleep(loadTimeout)
	})
}

// A single request long after the store was found down waits for it again: it may be back.
func TestQuietOutageEndsWithTheFirstRequest(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		f.down(true)
		time.Sleep(2 * downFor)
		f.want(t, nil)
		f.down(false)
		f.revoke()
		time.Sleep(downFor)
		f.want(t, keys.ErrInvalidKey)
	})
}

// One slow query among others delays its request by loadWait. It does not make the store down:
// callers that are not cached are still looked up.
func TestOneSlowQueryIsNoOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		second, third := newToken(t, keys.Live), newToken(t, keys.Live)
		f.add(second, 2)
		f.add(third, 2)
		f.hold(make(chan struct{}))
		start, slow := time.Now(), f.start(t)
		f.hold(nil)
		time.Sleep(loadWait / 2)
		f.wantOf(t, second, nil)
		assert.ErrorIs(t, <-slow, keys.ErrUnavailable, "the slow look-up")
		assert.Equal(t, time.Since(start), loadWait, "the slow look-up took")
		f.wantOf(t, third, nil)
		time.Sleep(loadTimeout)
	})
}
