package callers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// known returns keys that are cached, each with a tenant of its own.
func (f fixture) known(t *testing.T, n int) []keys.Token {
	t.Helper()
	tokens := make([]keys.Token, n)
	for i := range tokens {
		tokens[i] = newToken(t, keys.Live)
		f.add(tokens[i], int64(i+10))
		f.wantOf(t, tokens[i], nil)
	}
	return tokens
}

// lookUp looks all keys up, one a nanosecond, and sends the result of each with its place.
func (f fixture) lookUp(ctx context.Context, tokens []keys.Token) <-chan foundAt {
	results := make(chan foundAt, len(tokens))
	for i, token := range tokens {
		go func() {
			c, err := f.Lookup(ctx, token)
			results <- foundAt{i, c, err}
		}()
		time.Sleep(time.Nanosecond)
	}
	synctest.Wait()
	return results
}

type foundAt struct {
	i   int
	c   *keys.Caller
	err error
}

// TestLookupsShareQueries: while some queries are under way, the look-ups that come share the next,
// and each gets its own caller, of after it asked. Those of one key are one.
func TestLookupsShareQueries(t *testing.T) {
	const n = MaxQueries + maxBatch + 1
	bubble(t, func(t *testing.T, f fixture) {
		tokens := f.known(t, n)
		f.AllChanged()
		before := f.store.queries.Load()
		held := make(chan struct{})
		f.hold(held)
		results := f.lookUp(t.Context(), slices.Concat(tokens, tokens))
		f.wantQueries(t, before+MaxQueries)
		f.change(func(s *fakeStore) {
			for d, c := range s.callers {
				c.PerMinute = 7
				s.callers[d] = c
			}
		})
		f.hold(nil)
		close(held)
		old := 0
		for range 2 * n {
			r := <-results
			if r.err != nil || r.c.Tenant.ID != int64(r.i%n+10) {
				t.Errorf("key %d: %+v, %v", r.i, r.c, r.err)
			} else if r.c.PerMinute != 7 {
				old++
			}
		}
		assert.Equal(t, old, 2*MaxQueries, "callers of before the change whose queries had been sent")
		f.wantQueries(t, before+MaxQueries+2)
	})
}

// TestFailureOfASharedQuery: all who share a query get its error, which is not kept.
func TestFailureOfASharedQuery(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		tokens := f.known(t, 20)
		f.FeedLost()
		time.Sleep(staleTTL + 1) // Nobody is served from memory.
		f.silent.Store(true)
		held := make(chan struct{})
		f.hold(held)
		results := f.lookUp(t.Context(), tokens)
		f.hold(nil)
		f.down(true)
		close(held)
		failed := 0
		for range tokens {
			if r := <-results; errors.Is(r.err, keys.ErrUnavailable) {
				failed++
			}
		}
		assert.Equal(t, failed, len(tokens)-MaxQueries, "look-ups failed, want all but the first", MaxQueries)
		f.down(false)
		time.Sleep(retryInterval)
		for _, token := range tokens {
			f.wantOf(t, token, nil)
		}
	})
}

// TestWhoLeavesEndsNobodysLookup: the look-up of a request that was canceled goes on for those who
// share its query, and for itself.
func TestWhoLeavesEndsNobodysLookup(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		tokens := f.known(t, 20)
		f.AllChanged()
		held := make(chan struct{})
		f.hold(held)
		ctx, cancel := context.WithCancel(t.Context())
		results := f.lookUp(ctx, tokens)
		cancel()
		synctest.Wait()
		close(held)
		for range tokens {
			r := <-results
			assert.True(t, r.err == nil, "key", r.i, r.err)
		}
	})
}

// TestAbandonedLookupsAreNotSent: what nobody waits for any more neither is looked up nor stays in
// memory.
func TestAbandonedLookupsAreNotSent(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		held := make(chan struct{})
		f.hold(held)
		strangers := func(n int) []keys.Token {
			tokens := make([]keys.Token, n)
			for i := range tokens {
				tokens[i] = newToken(t, keys.Live)
			}
			return tokens
		}
		f.lookUp(t.Context(), strangers(100))
		time.Sleep(slotWait)
		synctest.Wait()
		one := strangers(1)
		f.lookUp(t.Context(), one)
		assert.Equal(t, len(f.strangers.waiting), 1, "look-ups are kept")
		f.lookUp(t.Context(), strangers(10)) // They leave before it, because it is joined.
		time.Sleep(slotWait / 4)
		f.lookUp(t.Context(), one)
		time.Sleep(slotWait * 3 / 4)
		f.hold(nil)
		close(held)
		synctest.Wait()
		f.wantQueries(t, MaxQueries+1)
		assert.Equal(t, f.LookedUp.Unknown.Load(), MaxQueries+1, "keys were looked up")
		if open := len(f.strangers.open); open != 0 || f.strangers.running != 0 {
			t.Errorf("%d look-ups and %d queries are left", open, f.strangers.running)
		}
	})
}
