package keys

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
)

const (
	// sendInterval is the time between two rounds of sending refusals to the store that servers share.
	sendInterval = 50 * time.Millisecond
	// shareTimeout bounds one call of that store. After one that failed it is left alone for shareRetry.
	shareTimeout = 150 * time.Millisecond
	shareRetry   = time.Second
)

// errSharedAway: the shared store failed a moment ago.
var errSharedAway = errors.New("the shared store of strikes is away")

// sharedStrikes gathers refusals for a store that servers share. It is safe for concurrent use.
type sharedStrikes struct {
	open func() (limiter.Store, error)
	log  zerolog.Logger

	mu      sync.Mutex
	pending map[string]*refusals

	// calling guards what follows, and lets one call run at a time.
	calling sync.Mutex
	store   limiter.Store
	// awayUntil is when the store is asked again, zero while it answers.
	awayUntil time.Time
}

// refusals are those of one key since the last round.
type refusals struct {
	caller *Caller
	n      int64
	at     time.Time
}

func newSharedStrikes(open func() (limiter.Store, error), log zerolog.Logger) *sharedStrikes {
	return &sharedStrikes{open: open, log: log, pending: map[string]*refusals{}}
}

func (s *sharedStrikes) add(c *Caller, at time.Time) {
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

// take returns what was added since it was last called.
func (s *sharedStrikes) take() map[string]*refusals {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	taken := s.pending
	s.pending = map[string]*refusals{}
	return taken
}

// increment adds n and tells whether all servers together reached the limit. After an error it may have been added
// or not.
func (s *sharedStrikes) increment(ctx context.Context, keyID string, n, limit int64) (reached bool, err error) {
	err = s.call(ctx, func(ctx context.Context, store limiter.Store) error {
		sum, err := store.Increment(ctx, keyID, n, strikeRate(limit))
		reached = sum.Remaining == 0
		return err
	})
	return reached && err == nil, err
}

// reset forgets the key's strikes of all servers. When it fails, they are forgotten within StrikePeriod.
func (s *sharedStrikes) reset(ctx context.Context, keyID string) {
	_ = s.call(ctx, func(ctx context.Context, store limiter.Store) error {
		_, err := store.Reset(ctx, keyID, strikeRate(0))
		return err
	})
}

func strikeRate(limit int64) limiter.Rate {
	return limiter.Rate{Formatted: "strikes", Period: StrikePeriod, Limit: limit}
}

func (s *sharedStrikes) call(ctx context.Context, fn func(context.Context, limiter.Store) error) error {
	s.calling.Lock()
	defer s.calling.Unlock()
	if time.Now().Before(s.awayUntil) {
		return errSharedAway
	}
	err := s.try(ctx, fn)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if s.awayUntil.IsZero() {
			s.log.Warn().Err(err).Msg("strikes are counted by this server alone")
		}
		s.awayUntil = time.Now().Add(shareRetry)
	case !s.awayUntil.IsZero():
		s.log.Info().Msg("strikes are counted with the other servers again")
		s.awayUntil = time.Time{}
	}
	return err
}

func (s *sharedStrikes) try(ctx context.Context, fn func(context.Context, limiter.Store) error) error {
	if s.store == nil {
		store, err := s.open()
		if err != nil {
			return err
		}
		s.store = store
	}
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	return fn(ctx, s.store)
}
