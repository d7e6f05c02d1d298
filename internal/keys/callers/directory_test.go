package callers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// fakeStore is a Store in memory that can be down, and can hold a look-up after it has read its
// result.
type fakeStore struct {
	mu      sync.Mutex
	callers map[keys.Digest]keys.Caller
	down    bool
	held    chan struct{}
	queries atomic.Int64
}

func (s *fakeStore) Callers(ctx context.Context, digests []keys.Digest, _ time.Time) ([]keys.Caller, error) {
	s.queries.Add(1)
	found := make([]keys.Caller, len(digests))
	s.mu.Lock()
	for i, d := range digests {
		found[i] = s.callers[d]
	}
	down, held := s.down, s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", keys.ErrUnavailable, ctx.Err())
		}
	}
	if down {
		return nil, fmt.Errorf("dial: %w", keys.ErrUnavailable)
	}
	return found, nil
}

// fixture is a directory over a store with one good key of tenant 1. Its feed proves itself when
// somebody asks.
type fixture struct {
	*Directory
	store *fakeStore
	token keys.Token
	// silent is true while the feed proves nothing.
	silent *atomic.Bool
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	store := &fakeStore{callers: map[keys.Digest]keys.Caller{}}
	f := fixture{NewDirectory(store, keys.Live, time.Now), store, newToken(t, keys.Live), new(atomic.Bool)}
	f.add(f.token, 1)
	f.FeedProven(time.Now())
	go func() {
		for {
			select {
			case <-t.Context().Done():
				return
			case <-f.ProofWanted():
				if !f.silent.Load() {
					f.FeedProven(time.Now())
				}
			}
		}
	}()
	return f
}

// lose loses the feed right after a proof.
func (f fixture) lose() {
	f.FeedProven(time.Now())
	f.silent.Store(true)
	f.FeedLost()
}

// restore restores it.
func (f fixture) restore() {
	f.silent.Store(false)
	f.AllChanged()
	f.FeedProven(time.Now())
}

// bubble runs a test of a fixture with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
}

func newToken(t *testing.T, env keys.Environment) keys.Token {
	t.Helper()
	token, err := keys.NewToken(env)
	assert.NoError(t, err)
	return token
}

func tenant(id int64) *plans.Tenant {
	return &plans.Tenant{
		ID:    id,
		Name:  fmt.Sprint("tenant-", id),
		Plan:  plans.Free,
		Quota: plans.Quota{PerMinute: 60, PerDay: 1000},
	}
}

func (f fixture) add(token keys.Token, tenantID int64) {
	f.change(func(s *fakeStore) {
		s.callers[token.Digest()] = keys.Caller{KeyID: token.Last4(), Environment: keys.Live, Tenant: tenant(tenantID)}
	})
}

func (f fixture) change(do func(*fakeStore)) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	do(f.store)
}

// set changes the key in the store, without notice.
func (f fixture) set(do func(*keys.Caller)) {
	f.change(func(s *fakeStore) {
		c := s.callers[f.token.Digest()]
		do(&c)
		s.callers[f.token.Digest()] = c
	})
}

func (f fixture) revoke()              { f.set(func(c *keys.Caller) { c.RevokedAt = time.Now().Unix() }) }
func (f fixture) down(down bool)       { f.change(func(s *fakeStore) { s.down = down }) }
func (f fixture) hold(c chan struct{}) { f.change(func(s *fakeStore) { s.held = c }) }

// want looks the key up.
func (f fixture) want(t *testing.T, want error) *keys.Caller {
	t.Helper()
	return f.wantOf(t, f.token, want)
}

func (f fixture) wantOf(t *testing.T, token keys.Token, want error) *keys.Caller {
	t.Helper()
	c, err := f.Lookup(t.Context(), token)
	if !errors.Is(err, want) {
		t.Fatalf("Lookup: %v, want %v", err, want)
	}
	return c
}

func (f fixture) wantQueries(t *testing.T, want int64) {
	t.Helper()
	assert.Equal(t, f.store.queries.Load(), want, "queries")
}

// start looks the key up in the background.
func (f fixture) start(t *testing.T) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := f.Lookup(t.Context(), f.token)
		result <- err
	}()
	synctest.Wait()
	return result
}

func TestLookupQueriesOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*keys.Caller)
		want   error
	}{
		"good":    {func(*keys.Caller) {}, nil},
		"revoked": {func(c *keys.Caller) { c.RevokedAt = time.Now().Unix() }, keys.ErrInvalidKey},
		"expired": {func(c *keys.Caller) { c.ExpiresAt = time.Now() }, keys.ErrInvalidKey},
		"suspended": {func(c *keys.Caller) { c.Tenant = tenant(1); c.Tenant.SuspendedAt = time.Now() },
			keys.ErrInvalidKey},
		"other": {func(c *keys.Caller) { c.Environment = keys.Test }, keys.ErrInvalidKey},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set(test.change)
			for range 3 {
				if c := f.want(t, test.want); c != nil && c.KeyID != f.token.Last4() {
					t.Fatalf("caller %q", c.KeyID)
				}
			}
			f.wantQueries(t, 1)
		})
	}
}

// TestLookupOfAnotherEnvironment: a key of another environment that is in the store has a caller,
// who is told. Of any other, its text says that it is never good, also while the store is down.
func TestLookupOfAnotherEnvironment(t *testing.T) {
	f := newFixture(t)
	f.set(func(c *keys.Caller) { c.Environment = keys.Test })
	c := f.want(t, keys.StatusError(keys.OtherEnvironment))
	assert.True(t, c != nil, "no caller for a key that exists")
	unknown := newToken(t, keys.Test)
	for range 2 {
		f.wantOf(t, unknown, keys.ErrOtherEnvironment)
	}
	f.wantQueries(t, 2)
	f.down(true)
	f.wantOf(t, newToken(t, keys.Test), keys.ErrOtherEnvironment)
	f.wantOf(t, newToken(t, keys.Live), keys.ErrUnavailable)
}

func TestKeyExpiresWithoutNotice(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.set(func(c *keys.Caller) { c.ExpiresAt = time.Now().Add(time.Minute) })
		time.Sleep(time.Minute - time.Nanosecond)
		f.want(t, nil)
		time.Sleep(time.Nanosecond)
		f.want(t, keys.ErrInvalidKey)
	})
}

func TestUnknownKeyIsCachedUntilIssued(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		issued := newToken(t, keys.Live)
		for range 3 {
			f.wantOf(t, issued, keys.ErrInvalidKey)
		}
		f.wantQueries(t, 1)
		time.Sleep(unknownTTL)
		f.wantOf(t, issued, keys.ErrInvalidKey)
		f.wantQueries(t, 2)
		f.add(issued, 2)
		f.KeyChanged(issued.Digest().Prefix())
		f.wantOf(t, issued, nil)
	})
}

// notices are the ways in which the feed tells of a change of the fixture's key.
var notices = map[string]func(fixture){
	"key":      func(f fixture) { f.KeyChanged(f.token.Digest().Prefix()) },
	"tenant":   func(f fixture) { f.TenantChanged(1) },
	"all":      func(f fixture) { f.AllChanged() },
	"restored": func(f fixture) { f.restore() },
}

func TestChangesAreSeen(t *testing.T) {
	for name, notify := range notices {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.want(t, nil)
			f.revoke()
			f.want(t, nil)
			f.TenantChanged(2)
			f.want(t, nil)
			notify(f)
			f.want(t, keys.ErrInvalidKey)
		})
	}
}

// A query under way at a change may have read what was before it: its result is not cached, and
// look-ups after the change do not share it.
func TestChangeDuringLookup(t *testing.T) {
	for name, notify := range notices {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f fixture) {
				held := make(chan struct{})
				f.hold(held)
				early := f.start(t)
				f.hold(nil)
				f.revoke()
				notify(f)
				f.want(t, keys.ErrInvalidKey)
				close(held)
				assert.Equal(t, <-early, nil, "the look-up from before the change")
				f.want(t, keys.ErrInvalidKey)
			})
		})
	}
}

// A result from before a change is never good, not even for an instant.
func TestOldResultIsNeverGood(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	digest := f.token.Digest()
	for range 500 {
		before := &entry{digest: digest, Caller: keys.Caller{KeyID: "key_1", Environment: keys.Live, Tenant: tenant(1)}}
		before.version.Store(f.feed.version.Load())
		f.KeyChanged(digest.Prefix())
		var done atomic.Bool
		seen := make(chan bool)
		go func() {
			found := false
			for !done.Load() && !found {
				e := f.callers.get(&digest)
				found = e != nil && f.feed.unchanged(e)
			}
			seen <- found
		}()
		f.feed.cache(f.callers, before)
		done.Store(true)
		if <-seen {
			t.Fatal("an entry from before a change of the key was good after it")
		}
	}
}

// Notices about others, at the same time, do not hide a change of the caller's own: it is seen as
// soon as it was told.
func TestNoStaleCallerAmongChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(t, nil)
	var done atomic.Bool
	var others sync.WaitGroup
	for i := range 3 {
		others.Go(func() {
			for n := int64(2); !done.Load(); n++ {
				if i == 0 {
					f.TenantChanged(n % 100)
					continue
				}
				_, _ = f.Lookup(t.Context(), f.token)
			}
		})
	}
	slow := 0
	notify := []string{"key", "tenant", "all"}
	for n := range 1000 {
		limit := int64(n + 1)
		f.set(func(c *keys.Caller) { c.PerMinute = limit })
		notices[notify[n%len(notify)]](f)
		c, err := f.Lookup(t.Context(), f.token)
		if errors.Is(err, keys.ErrUnavailable) && slow < 10 {
			slow++ // On a busy machine a query may take longer than loadWait.
			time.Sleep(retryInterval)
			continue
		}
		if err != nil || c.PerMinute != limit {
			t.Errorf("after change %d: %+v, %v", limit, c, err)
			break
		}
	}
	done.Store(true)
	others.Wait()
}
