package strikes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
)

const (
	// sendInterval is how often refusals are sent to the shared store.
	sendInterval = 50 * time.Millisecond
	// sharedTimeout bounds a call of the shared store. After a failure it is not called for sharedRetry.
	sharedTimeout = 150 * time.Millisecond
	sharedRetry   = time.Second
)

// errBackingOff: the shared store failed a moment ago.
var errBackingOff = errors.New("strikes can't be counted in Redis at the moment")

// sharedCounter collects refusals and counts them in a store that servers share. It is safe for concurrent
// use.
type sharedCounter struct {
	open func() (limiter.Store, error)
	log  zerolog.Logger

	mu      sync.Mutex
	pending map[string]*refusals

	// calling guards what follows and allows one call at a time.
	calling sync.Mutex
	store   limiter.Store
	// retryAt is when the store is called again, zero while it is up.
	retryAt time.Time
}

// refusals are those of one key since they were last sent.
type refusals struct {
	caller *keys.Caller
	n      int64
	at     time.Time
}

func newSharedCounter(open func() (limiter.Store, error), log zerolog.Logger) *sharedCounter {
	return &sharedCounter{open: open, log: log, pending: map[string]*refusals{}}
}

func (s *sharedCounter) add(c *keys.Caller, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.pending[c.KeyID]
	if !ok {
		r = &refusals{}
		s.pending[c.KeyID] = r
	}
	r.caller, r.at = c, at
	r.n++
}

// take returns the refusals that were added since its last call.
func (s *sharedCounter) take() map[string]*refusals {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	taken := s.pending
	s.pending = map[string]*refusals{}
	return taken
}

// increment adds n and reports whether all servers together reached the limit. After an error, n may have
// been added.
func (s *sharedCounter) increment(ctx context.Context, keyID string, n, limit int64) (reached bool, err error) {
	err = s.call(ctx, func(ctx context.Context, store limiter.Store) error {
		sum, err := store.Increment(ctx, keyID, n, strikeRate(limit))
		reached = sum.Remaining == 0
		return err
	})
	return reached && err == nil, err
}

// reset removes the key's strikes of all servers. If it fails, they expire within keys.StrikePeriod.
func (s *sharedCounter) reset(ctx context.Context, keyID string) {
	_ = s.call(ctx, func(ctx context.Context, store limiter.Store) error {
		_, err := store.Reset(ctx, keyID, strikeRate(0))
		return err
	})
}

func strikeRate(limit int64) limiter.Rate {
	return limiter.Rate{Formatted: "strikes", Period: keys.StrikePeriod, Limit: limit}
}

func (s *sharedCounter) call(ctx context.Context, fn func(context.Context, limiter.Store) error) error {
	s.calling.Lock()
	defer s.calling.Unlock()
	if time.Now().Before(s.retryAt) {
		return errBackingOff
	}
	err := s.try(ctx, fn)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if s.retryAt.IsZero() {
			s.log.Warn().Err(err).Msg("can't count strikes in Redis: this server counts its own")
		}
		s.retryAt = time.Now().Add(sharedRetry)
	case !s.retryAt.IsZero():
		s.log.Info().Msg("strikes are counted in Redis again")
		s.retryAt = time.Time{}
	}
	return err
}

func (s *sharedCounter) try(ctx context.Context, fn func(context.Context, limiter.Store) error) error {
	if s.store == nil {
		store, err := s.open()
		if err != nil {
			return err
		}
		s.store = store
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	return fn(ctx, s.store)
}
