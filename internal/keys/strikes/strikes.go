// Package strikes counts 429 responses, and bans keys that keep sending requests after them.
package strikes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/sync/singleflight"

	"petstore.example/internal/keys"
)

const (
	// banTimeout bounds the placing of a ban, banWait how long a request waits for it. After a failure the
	// next ban is tried banRetry later.
	banTimeout = 2 * time.Second
	banWait    = 500 * time.Millisecond
	banRetry   = time.Second
	// cleanInterval is how often expired counts are removed from memory.
	cleanInterval = time.Minute
)

// BanStore places bans.
type BanStore interface {
	// PlaceAutomaticBan bans the key from now on and returns the ban. The more automatic bans the key had
	// within keys.RepeatPeriod, the longer the ban. If a ban is in force, it returns that one instead, also
	// when several servers call it at once. It returns keys.ErrKeyNotFound, or an error that is
	// keys.ErrUnavailable.
	PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string, now time.Time) (keys.Ban, error)
}

// Counter counts the refusals by limits (429) of each key. It bans a key after keys.StrikeLimit refusals
// within keys.StrikePeriod of the first.
//
// If this process counts alone, the request that reaches the limit waits for the ban, so that the next one is
// refused by it. If servers count together in a shared store, refusals are sent there in the background, and
// the ban follows within about 100 ms. While the shared store is down, each server counts its own refusals.
//
// A ban that can't be placed is logged and tried again at a later refusal. Counter is safe for concurrent
// use.
type Counter struct {
	bans  BanStore
	onBan func(keys.Ban)
	log   zerolog.Logger

	local   *memory.CacheWrapper
	shared  *sharedCounter
	placing singleflight.Group
	pending sync.WaitGroup
	// failedAt is when placing a ban last failed, in Unix nanoseconds.
	failedAt atomic.Int64

	stop    context.CancelFunc
	stopped chan struct{}
}

// Options configure a Counter.
type Options struct {
	Bans BanStore
	// OpenShared opens the store in which all servers count; nil if this process counts alone. It is called
	// in the background until it succeeds.
	OpenShared func() (limiter.Store, error)
	// OnBan, if not nil, is called with each ban that was placed or already in force, so that this server
	// need not wait for the database's notice of it.
	OnBan func(keys.Ban)
	Log   zerolog.Logger
}

// New returns a Counter, which must be closed.
func New(o Options) *Counter {
	if o.OnBan == nil {
		o.OnBan = func(keys.Ban) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Counter{
		bans: o.Bans, onBan: o.OnBan, log: o.Log,
		// With an interval it would start a goroutine that nothing can stop. So run cleans it.
		local: memory.NewCache(0),
		stop:  stop, stopped: make(chan struct{}),
	}
	if o.OpenShared != nil {
		c.shared = newSharedCounter(o.OpenShared, o.Log)
	}
	go c.run(ctx)
	return c
}

// Close stops the background work and waits for its end. Refusals that were not sent yet are lost. Do not
// call Refused after Close.
func (c *Counter) Close() {
	c.stop()
	<-c.stopped
	c.pending.Wait()
}

// Refused counts one refusal by a limit. Refusals by a ban do not count.
func (c *Counter) Refused(ctx context.Context, caller *keys.Caller, now time.Time) {
	if c.shared != nil {
		c.shared.add(caller, now)
		return
	}
	if n, _ := c.local.Increment(caller.KeyID, 1, keys.StrikePeriod); n >= limitOf(caller) {
		c.ban(ctx, caller, now)
	}
}

func limitOf(caller *keys.Caller) int64 { return keys.StrikeLimit(caller.Tenant.Quota.PerMinute) }

// ban places a ban, once for all concurrent callers, and waits at most banWait for it.
func (c *Counter) ban(ctx context.Context, caller *keys.Caller, now time.Time) {
	if now.Sub(time.Unix(0, c.failedAt.Load())).Abs() < banRetry {
		return
	}
	// A client that disconnects is banned all the same.
	ctx = context.WithoutCancel(ctx)
	placed := make(chan struct{})
	c.pending.Go(func() {
		defer close(placed)
		_, _, _ = c.placing.Do(caller.KeyID, func() (any, error) {
			c.place(ctx, caller, now)
			return nil, nil
		})
	})
	wait := time.NewTimer(banWait)
	defer wait.Stop()
	select {
	case <-placed:
	case <-wait.C:
		c.failedAt.Store(now.UnixNano())
	}
}

func (c *Counter) place(ctx context.Context, caller *keys.Caller, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, banTimeout)
	defer cancel()
	b, err := c.bans.PlaceAutomaticBan(ctx, caller.Tenant.ID, caller.KeyID, now)
	if err != nil {
		c.failedAt.Store(now.UnixNano())
		c.log.Error().Err(err).Str("tenant", caller.Tenant.Name).Int64("tenant_id", caller.Tenant.ID).Str("key", caller.KeyID).Msg("can't ban key")
		return
	}
	c.log.Info().Str("tenant", b.TenantName).Int64("tenant_id", b.TenantID).Str("key", b.KeyID).Time("until", b.EndsAt).Msg("key banned")
	c.onBan(b)
	c.reset(ctx, caller.KeyID)
}

// reset removes the key's strikes, so that counting starts at zero after its ban.
func (c *Counter) reset(ctx context.Context, keyID string) {
	c.local.Reset(keyID, keys.StrikePeriod)
	if c.shared != nil {
		c.shared.reset(ctx, keyID)
	}
}

// run removes expired counts and sends refusals to the shared store.
func (c *Counter) run(ctx context.Context) {
	defer close(c.stopped)
	clean := time.NewTicker(cleanInterval)
	defer clean.Stop()
	var send <-chan time.Time
	if c.shared != nil {
		ticker := time.NewTicker(sendInterval)
		defer ticker.Stop()
		send = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-clean.C:
			c.local.Clean()
		case <-send:
			c.send(ctx)
		}
	}
}

// send counts the refusals since the last call in the shared store and bans the keys that reached the limit.
func (c *Counter) send(ctx context.Context) {
	for keyID, r := range c.shared.take() {
		limit := limitOf(r.caller)
		reached, err := c.shared.increment(ctx, keyID, r.n, limit)
		if err != nil {
			n, _ := c.local.Increment(keyID, r.n, keys.StrikePeriod)
			reached = n >= limit
		}
		if reached {
			c.ban(ctx, r.caller, r.at)
		}
	}
}
