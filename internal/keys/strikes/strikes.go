// Package strikes counts refusals by limits (429), and bans keys that are refused too often within
// a minute.
package strikes

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"petstore.example/internal/keys"
)

const (
	// banTimeout bounds the call that places a ban, banWait how long a request waits for it. After
	// a failure the next ban is tried banRetry later.
	banTimeout = 2 * time.Second
	banWait    = 500 * time.Millisecond
	banRetry   = time.Second
	// cleanInterval is how often counts of former windows are removed from memory.
	cleanInterval = time.Minute
)

// BanStore places bans.
type BanStore interface {
	// PlaceAutomaticBan bans the key from now on and returns the ban. Earlier automatic bans of the
	// key make it longer. If a ban is in force, it returns that ban instead, also when several
	// servers call it at once. It returns keys.ErrKeyNotFound, or an error that is
	// keys.ErrUnavailable.
	PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string) (keys.Ban, error)
	// NextBan returns how long an automatic ban of the key placed at now would last.
	NextBan(ctx context.Context, keyID string, now time.Time) (time.Duration, error)
}

// Counter counts the refusals of each key by limits on this server. It bans a key that is refused
// more often than keys.MostRefusals within one minute window of its tenant.
//
// The request that exceeds this number waits for the ban, which then refuses the next request. If a
// ban can't be placed, that is logged, and a later refusal tries again. Counter is safe for
// concurrent use.
type Counter struct {
	bans  BanStore
	onBan func(keys.Ban)
	log   zerolog.Logger

	counts  sync.Map // key ID → *count
	placing singleflight.Group
	pending sync.WaitGroup
	// failedAt is when placing a ban last failed, in Unix nanoseconds.
	failedAt atomic.Int64

	stop    context.CancelFunc
	stopped chan struct{}
}

// count has the number of a minute window in its upper half, and the number of requests refused in
// that window in its lower half.
type count struct{ atomic.Uint64 }

// add counts one refusal and returns the number of refusals in that window.
func (c *count) add(minute uint32) int64 {
	for {
		before := c.Load()
		n := uint64(1)
		if uint32(before>>32) == minute {
			n += before & math.MaxUint32
		}
		if c.CompareAndSwap(before, uint64(minute)<<32|n) {
			return int64(n)
		}
	}
}

// Options configure a Counter.
type Options struct {
	Bans BanStore
	// OnBan, if not nil, is called with each ban that was placed or already in force, so that this
	// server need not wait for the database's notification.
	OnBan func(keys.Ban)
	Log   zerolog.Logger
}

// New returns a Counter, which must be closed.
func New(o Options) *Counter {
	if o.OnBan == nil {
		o.OnBan = func(keys.Ban) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Counter{bans: o.Bans, onBan: o.OnBan, log: o.Log, stop: stop, stopped: make(chan struct{})}
	go c.clean(ctx)
	return c
}

// Close stops the background work and waits for its end. Do not call Refused after Close.
func (c *Counter) Close() {
	c.stop()
	<-c.stopped
	c.pending.Wait()
}

// Refused counts one refusal by a limit, in the minute window with that number. Refusals by a ban
// do not count.
func (c *Counter) Refused(ctx context.Context, caller *keys.Caller, minute int64, now time.Time) {
	v, ok := c.counts.Load(caller.KeyID)
	if !ok {
		v, _ = c.counts.LoadOrStore(caller.KeyID, &count{})
	}
	if v.(*count).add(uint32(minute)) > keys.MostRefusals(caller.Tenant.Quota.PerMinute, caller.PerMinute) {
		c.ban(ctx, caller, now)
	}
}

// NextBan returns how long a ban of the key placed at now would last.
func (c *Counter) NextBan(ctx context.Context, keyID string, now time.Time) (time.Duration, error) {
	return c.bans.NextBan(ctx, keyID, now)
}

// ban places a ban, once for all concurrent callers, and waits at most banWait for it.
func (c *Counter) ban(ctx context.Context, caller *keys.Caller, now time.Time) {
	if now.Sub(time.Unix(0, c.failedAt.Load())).Abs() < banRetry {
		return
	}
	// A client that disconnects is still banned.
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
	b, err := c.bans.PlaceAutomaticBan(ctx, caller.Tenant.ID, caller.KeyID)
	if err != nil {
		c.failedAt.Store(now.UnixNano())
		c.log.Error().Err(err).Str(
			"tenant",
			caller.Tenant.Name,
		).Int64(
			"tenant_id",
			caller.Tenant.ID,
		).Str(
			"key",
			caller.KeyID,
		).Msg("can't ban key")
		return
	}
	c.log.Info().Str(
		"tenant",
		b.TenantName,
	).Int64(
		"tenant_id",
		b.TenantID,
	).Str(
		"key",
		b.KeyID,
	).Time(
		"until",
		b.EndsAt,
	).Msg("key banned")
	c.onBan(b)
	// If the ban is lifted within the minute, counting begins at zero.
	c.counts.Delete(caller.KeyID)
}

// clean removes counts of former windows. It spares the two minutes before this one, because the
// tenants' windows begin at different seconds and clocks may differ.
func (c *Counter) clean(ctx context.Context) {
	defer close(c.stopped)
	ticker := time.NewTicker(cleanInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			former := uint64(now.Unix()/60-2) << 32
			c.counts.Range(func(key, v any) bool {
				if v.(*count).Load() < former {
					c.counts.Delete(key)
				}
				return true
			})
		}
	}
}
