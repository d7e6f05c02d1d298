package keys

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/sync/singleflight"
)

const (
	// banTimeout bounds the placing of a ban, banWait how long a request waits for it. After a failure none is tried for
	// banRetry.
	banTimeout = 2 * time.Second
	banWait    = 500 * time.Millisecond
	banRetry   = time.Second
	// forgetInterval is how often counts that are over are dropped from memory.
	forgetInterval = time.Minute
)

// BanStore places bans.
type BanStore interface {
	// PlaceAutomaticBan bans the key from now on and returns the ban: the longer, the more automatic bans it had within
	// RepeatPeriod. When a ban is in force it returns that one and places none, whoever else does the same at the
	// moment. It returns ErrKeyNotFound, or an error that is ErrUnavailable.
	PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string, now time.Time) (Ban, error)
}

// Strikes counts the refusals (429) that each key is given, and bans a key that goes on calling: at StrikeLimit within
// StrikePeriod of the first. It holds one count per key that was refused lately.
//
// Counted in this process alone, the request that reaches the limit waits for the ban, so the next one meets it.
// Counted together with other servers, in a store that they share, refusals are sent there in the background, and the
// ban follows within about 100 ms. While that store is away, each server counts what it refuses itself.
//
// A ban that can't be placed is logged and tried again with a later refusal. Strikes is safe for concurrent use.
type Strikes struct {
	bans  BanStore
	onBan func(Ban)
	log   zerolog.Logger

	own     *memory.CacheWrapper
	shared  *sharedStrikes
	placing singleflight.Group
	flights sync.WaitGroup
	// failedAt is when a ban last could not be placed, in Unix nanoseconds.
	failedAt atomic.Int64

	stop    context.CancelFunc
	stopped chan struct{}
}

// StrikesOptions are what Strikes needs.
type StrikesOptions struct {
	Bans BanStore
	// OpenShared returns the store that all servers count in; nil when this process counts alone. It is called in the
	// background until it succeeds.
	OpenShared func() (limiter.Store, error)
	// OnBan is told of each ban placed or met, so that this server need not wait for the notice of it; nil for nobody.
	OnBan func(Ban)
	Log   zerolog.Logger
}

// NewStrikes begins to count. Close it.
func NewStrikes(o StrikesOptions) *Strikes {
	if o.OnBan == nil {
		o.OnBan = func(Ban) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Strikes{
		bans: o.Bans, onBan: o.OnBan, log: o.Log,
		// Without an interval it starts no goroutine, which nothing could stop; run cleans it up.
		own:  memory.NewCache(0),
		stop: stop, stopped: make(chan struct{}),
	}
	if o.OpenShared != nil {
		s.shared = newSharedStrikes(o.OpenShared, o.Log)
	}
	go s.run(ctx)
	return s
}

// Close stops the work in the background and waits for its end. Call Refused no more. Refusals that were not yet sent
// are forgotten.
func (s *Strikes) Close() {
	s.stop()
	<-s.stopped
	s.flights.Wait()
}

// Refused counts one refusal by a limit, at the instant now. Refusals during a ban are not to be counted.
func (s *Strikes) Refused(ctx context.Context, c *Caller, now time.Time) {
	if s.shared != nil {
		s.shared.add(c, now)
		return
	}
	if n, _ := s.own.Increment(c.KeyID, 1, StrikePeriod); n >= strikeLimit(c) {
		s.ban(ctx, c, now)
	}
}

func strikeLimit(c *Caller) int64 { return StrikeLimit(c.Tenant.Quota.PerMinute) }

// ban has the ban placed, once for all who ask for it at the moment, and waits for it at most banWait.
func (s *Strikes) ban(ctx context.Context, c *Caller, now time.Time) {
	if now.Sub(time.Unix(0, s.failedAt.Load())) < banRetry {
		return
	}
	// The customer who hangs up is banned all the same.
	ctx = context.WithoutCancel(ctx)
	placed := make(chan struct{})
	s.flights.Go(func() {
		defer close(placed)
		_, _, _ = s.placing.Do(c.KeyID, func() (any, error) {
			s.place(ctx, c, now)
			return nil, nil
		})
	})
	wait := time.NewTimer(banWait)
	defer wait.Stop()
	select {
	case <-placed:
	case <-wait.C:
		s.failedAt.Store(now.UnixNano())
	}
}

func (s *Strikes) place(ctx context.Context, c *Caller, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, banTimeout)
	defer cancel()
	b, err := s.bans.PlaceAutomaticBan(ctx, c.Tenant.ID, c.KeyID, now)
	if err != nil {
		s.failedAt.Store(now.UnixNano())
		s.log.Error().Err(err).Str("key", c.KeyID).Msg("a ban can't be placed")
		return
	}
	s.log.Info().Str("key", b.KeyID).Str("tenant", b.TenantName).Time("until", b.EndsAt).Msg("key is banned")
	s.onBan(b)
	s.reset(ctx, c.KeyID)
}

// reset forgets the key's strikes, so that it begins anew after its ban.
func (s *Strikes) reset(ctx context.Context, keyID string) {
	s.own.Reset(keyID, StrikePeriod)
	if s.shared != nil {
		s.shared.reset(ctx, keyID)
	}
}

// run does the work in the background: it forgets what is over and sends what is to be shared.
func (s *Strikes) run(ctx context.Context) {
	defer close(s.stopped)
	forget := time.NewTicker(forgetInterval)
	defer forget.Stop()
	var send <-chan time.Time
	if s.shared != nil {
		ticker := time.NewTicker(sendInterval)
		defer ticker.Stop()
		send = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-forget.C:
			s.own.Clean()
		case <-send:
			s.send(ctx)
		}
	}
}

// send counts what came since the last time, and bans who reached the limit.
func (s *Strikes) send(ctx context.Context) {
	for keyID, r := range s.shared.take() {
		limit := strikeLimit(r.caller)
		reached, err := s.shared.increment(ctx, keyID, r.n, limit)
		if err != nil {
			n, _ := s.own.Increment(keyID, r.n, StrikePeriod)
			reached = n >= limit
		}
		if reached {
			s.ban(ctx, r.caller, r.at)
		}
	}
}
