package callers

import (
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

func TestFindAsksTheStoreForNoUnknownKey(t *testing.T) {
	f := newFixture(t)
	stranger := newToken(t, keys.Live)
	_, err := f.Find(t.Context(), stranger, time.Now())
	assert.ErrorIs(t, err, keys.ErrNotCached)
	f.wantQueries(t, 0)
	f.wantOf(t, stranger, keys.ErrInvalidKey)
	_, err = f.Find(t.Context(), stranger, time.Now())
	assert.ErrorIs(t, err, keys.ErrInvalidKey, "after a look-up")
}

// A caller that was looked up once stays known, whatever changes.
func TestDroppedCallerStaysKnown(t *testing.T) {
	for name, notify := range notices {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.want(t, nil)
			notify(f)
			f.set(func(c *keys.Caller) { c.PerMinute = 7 })
			for range 2 {
				if c, err := f.Find(t.Context(), f.token, time.Now()); err != nil || c.PerMinute != 7 {
					t.Errorf("%+v, %v: want the caller, looked up again", c, err)
				}
				f.TenantChanged(2)
			}
			if known, unknown := f.LookedUp.Known.Load(), f.LookedUp.Unknown.Load(); known != 1 || unknown != 1 {
				t.Errorf("%d queries for a known caller, %d for others, want 1 and 1", known, unknown)
			}
		})
	}
}

// A key that was issued a moment ago is known from the first look-up on, even if the notice of its
// issue arrives during it.
func TestChangeDuringTheFirstLookup(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		held := make(chan struct{})
		f.hold(held)
		first := f.start(t)
		f.KeyChanged(f.token.Digest().Prefix())
		f.hold(nil)
		close(held)
		assert.NoError(t, <-first)
		f.set(func(c *keys.Caller) { c.PerMinute = 7 })
		if c, err := f.Find(t.Context(), f.token, time.Now()); err != nil || c.PerMinute != 7 {
			t.Errorf("%+v, %v: want the caller, looked up again", c, err)
		}
	})
}

// However many strangers come, few of their keys are looked up at the same time, and known callers
// wait for none.
func TestStrangersHoldUpNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.want(t, nil)
		held := make(chan struct{})
		f.hold(held)
		start := time.Now()
		results := make(chan error)
		for range 100 {
			stranger := newToken(t, keys.Live)
			go func() {
				_, err := f.Lookup(t.Context(), stranger)
				results <- err
			}()
		}
		synctest.Wait()
		f.wantQueries(t, 1+MaxQueries)

		f.hold(nil)
		f.KeyChanged(f.token.Digest().Prefix())
		f.want(t, nil)
		assert.Equal(t, time.Since(start), 0, "a known caller waited for strangers")

		for range 100 - MaxQueries {
			assert.ErrorIs(t, <-results, keys.ErrUnavailable, "a stranger beyond the slots")
		}
		assert.Equal(t, time.Since(start), slotWait, "strangers waited for a slot")
		close(held)
		for range MaxQueries {
			assert.ErrorIs(t, <-results, keys.ErrInvalidKey, "a stranger with a slot")
		}
		// The store was not slow, so the next key is looked up.
		f.wantOf(t, newToken(t, keys.Live), keys.ErrInvalidKey)
	})
}
