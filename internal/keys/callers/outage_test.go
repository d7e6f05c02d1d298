package callers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// outage is a fixture whose caller is cached, at the moment at which the feed is lost.
func outage(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Helper()
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		f.FeedLost(time.Now())
		test(t, f)
	})
}

func TestWithoutTheFeedACallerIsGoodForASecond(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		time.Sleep(time.Hour)
		f.want(t, nil)
		f.wantQueries(t, 1)
		f.FeedLost(time.Now())
		f.set(func(c *keys.Caller) { c.Tenant = tenant(1); c.Tenant.Plan = plans.Pro })
		if c := f.want(t, nil); c.Tenant.Plan != plans.Pro {
			t.Errorf("plan %s an hour after the look-up, want it looked up again", c.Tenant.Plan)
		}
		f.revoke()
		time.Sleep(lostTTL - time.Nanosecond)
		f.want(t, nil)
		time.Sleep(time.Nanosecond)
		f.want(t, keys.ErrInvalidKey)
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
		f.FeedRestored()
		f.want(t, keys.ErrInvalidKey)
	})
}

// A store that is down is asked now and then, not by every request.
func TestOutageBacksOff(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		f.down(true)
		time.Sleep(2 * lostTTL)
		for range 1000 {
			f.want(t, nil)
		}
		f.wantQueries(t, 2)
		time.Sleep(retryInterval)
		f.want(t, nil)
		synctest.Wait()
		f.wantQueries(t, 3)
	})
}

// A store that hangs delays a request by loadWait.
func TestHangingStore(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.hold(make(chan struct{}))
		start := time.Now()
		f.want(t, keys.ErrUnavailable)
		if took := time.Since(start); took != loadWait {
			t.Errorf("the look-up took %v, want %v", took, loadWait)
		}
		time.Sleep(loadTimeout)
	})
}

// Of the look-ups of cached callers, only the one that finds out that the store hangs waits for it. When the
// store answers again, its result counts within about a second without the feed.
func TestCachedCallersDoNotWaitForAHangingStore(t *testing.T) {
	outage(t, func(t *testing.T, f fixture) {
		held := make(chan struct{})
		f.hold(held)
		time.Sleep(2 * lostTTL)
		start := time.Now()
		f.want(t, nil)
		if took := time.Since(start); took != loadWait {
			t.Errorf("the first took %v, want %v", took, loadWait)
		}
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
		time.Sleep(2 * lostTTL)
		f.want(t, nil)
		f.down(false)
		f.revoke()
		time.Sleep(lostTTL)
		f.want(t, keys.ErrInvalidKey)
	})
}

// One slow query among others does not make the store down: callers that are not cached are still looked up.
func TestOneSlowQueryIsNoOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		second, third := newToken(t, keys.Live), newToken(t, keys.Live)
		f.add(second, 2)
		f.add(third, 2)
		f.hold(make(chan struct{}))
		slow := f.start(t)
		f.hold(nil)
		time.Sleep(loadWait / 2)
		f.wantOf(t, second, nil)
		if err := <-slow; !errors.Is(err, keys.ErrUnavailable) {
			t.Errorf("the slow look-up: %v, want ErrUnavailable", err)
		}
		f.wantOf(t, third, nil)
		time.Sleep(loadTimeout)
	})
}
