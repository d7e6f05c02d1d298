package callers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
)

func TestFindAsksTheStoreForNoUnknownKey(t *testing.T) {
	f := newFixture(t)
	stranger := newToken(t, keys.Live)
	if _, err := f.Find(t.Context(), stranger, time.Now()); !errors.Is(err, keys.ErrNotCached) {
		t.Errorf("%v, want ErrNotCached", err)
	}
	f.wantQueries(t, 0)
	f.wantOf(t, stranger, keys.ErrInvalidKey)
	if _, err := f.Find(t.Context(), stranger, time.Now()); !errors.Is(err, keys.ErrInvalidKey) {
		t.Errorf("after a look-up: %v, want ErrInvalidKey", err)
	}
}

// A caller that was looked up once stays known, whatever changes.
func TestDroppedCallerStaysKnown(t *testing.T) {
	for name, notify := range notices {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.want(t, nil)
			notify(f)
			f.set(func(c *keys.Caller) { c.PerMinute = 7 })
			if c, err := f.Find(t.Context(), f.token, time.Now()); err != nil || c.PerMinute != 7 {
				t.Errorf("%+v, %v: want the caller, looked up again", c, err)
			}
			if known, unknown := f.LookedUp.Known.Load(), f.LookedUp.Unknown.Load(); known != 1 || unknown != 1 {
				t.Errorf("%d queries for a known caller, %d for others, want 1 and 1", known, unknown)
			}
		})
	}
}

// A key that was issued a moment ago is known from the first look-up on, even if the notice of its issue arrives during it.
func TestChangeDuringTheFirstLookup(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		held := make(chan struct{})
		f.hold(held)
		first := f.start(t)
		f.KeyChanged(f.token.Digest().Prefix())
		f.hold(nil)
		close(held)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		f.set(func(c *keys.Caller) { c.PerMinute = 7 })
		if c, err := f.Find(t.Context(), f.token, time.Now()); err != nil || c.PerMinute != 7 {
			t.Errorf("%+v, %v: want the caller, looked up again", c, err)
		}
	})
}

// However many strangers come, few of their keys are looked up at the same time, and known callers wait for none.
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
		if took := time.Since(start); took != 0 {
			t.Errorf("a known caller waited %v for strangers", took)
		}

		for range 100 - MaxQueries {
			if err := <-results; !errors.Is(err, keys.ErrUnavailable) {
				t.Errorf("a stranger beyond the slots: %v, want ErrUnavailable", err)
			}
		}
		if took := time.Since(start); took != slotWait {
			t.Errorf("strangers waited %v for a slot, want %v", took, slotWait)
		}
		close(held)
		for range MaxQueries {
			if err := <-results; !errors.Is(err, keys.ErrInvalidKey) {
				t.Errorf("a stranger with a slot: %v, want ErrInvalidKey", err)
			}
		}
		// The store was not slow, so the next key is looked up.
		f.wantOf(t, newToken(t, keys.Live), keys.ErrInvalidKey)
	})
}
