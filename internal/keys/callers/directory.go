package callers

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"petstore.example/internal/keys"
)

const (
	// cacheSize is how many callers are cached, at some 220 bytes each, and unknownSize how many digests of
	// no key.
	cacheSize   = 1_000_000
	unknownSize = 10_000
	// unknownTTL is how long a digest of no key is cached, unless the change feed drops it earlier.
	unknownTTL = 10 * time.Second
	// lostTTL is how long a caller is served from memory while the change feed is lost.
	lostTTL = time.Second
	// staleTTL is how long after the loss of the feed callers are served from memory if the store is down
	// too.
	staleTTL = 60 * time.Second
	// maxUnknown is how many keys that are not cached are looked up at the same time.
	maxUnknown = 4
)

// Store looks callers up. It should run more than maxUnknown queries at the same time, and share its connections
// with nothing else: then known callers wait for no stranger, and no other query waits for look-ups.
type Store interface {
	// Caller returns keys.ErrKeyNotFound for a digest of no key, and an error that is keys.ErrUnavailable if
	// the store is down. It finds revoked and expired keys and those of suspended tenants too.
	Caller(ctx context.Context, digest keys.Digest, now time.Time) (keys.Caller, error)
}

// Directory finds callers by their keys, from memory. It is safe for concurrent use.
//
// While the change feed is healthy, a cached caller is good until it changes. While the feed is lost, a
// caller is good for a second and is then looked up again. If the store is down too, nobody can revoke a key,
// and cached callers are served for 60 seconds after the loss of the feed. The first request that finds the
// store down waits for it; later ones do not, because the store is probed in the background. After the 60
// seconds, and for callers that are not cached, Lookup returns keys.ErrUnavailable. When the feed is
// restored, everything is dropped.
//
// Anybody can send a key that does not exist. So of the keys that are not cached, at most four are looked up at
// the same time, and others wait for 200 ms at most. A caller that was cached stays known when it is dropped,
// and is looked up again without such a limit.
//
// Two clocks: instants decide whether a key has expired or is banned; how long ago something was is measured by the
// monotonic clock, so that no clock that is set makes an entry, or a failure of the store, older or younger.
type Directory struct {
	store   Store
	env     keys.Environment
	instant func() time.Time
	clock   steadyClock

	callers *clockCache
	unknown *clockCache
	// tenants are those of the cached callers by ID, so that the keys of a tenant share one *plans.Tenant.
	tenants sync.Map
	feed    feed

	loads  singleflight.Group
	health storeHealth
	// unknownSlots has room for maxUnknown look-ups.
	unknownSlots slots

	// Queries counts the queries for callers that had been cached, and for other keys.
	Queries struct{ Known, Unknown atomic.Int64 }
}

// NewDirectory returns an empty directory for that environment. It decides expiry and bans by instant. Its change feed
// is lost until FeedRestored is called.
func NewDirectory(store Store, env keys.Environment, instant func() time.Time) *Directory {
	d := &Directory{
		store: store, env: env, instant: instant, clock: steadyClock{time.Now()}, callers: newClockCache(cacheSize), unknown: newClockCache(unknownSize),
		unknownSlots: make(slots, maxUnknown),
	}
	d.feed.version.Store(dropped + 1)
	d.feed.lostSince.Store(d.clock.now().UnixNano())
	return d
}

// Lookup returns the caller with that key. It returns keys.ErrInvalidKey if there is none or the key is not
// good, and an error that is keys.ErrUnavailable if that can't be known. A banned key is good: see
// keys.Caller.Banned.
func (d *Directory) Lookup(ctx context.Context, t keys.Token) (*keys.Caller, error) {
	c, err := d.Find(ctx, t)
	if !errors.Is(err, keys.ErrNotCached) {
		return c, err
	}
	now := d.clock.now()
	e, err := d.load(ctx, t.Digest(), nil, now)
	if errors.Is(err, keys.ErrKeyNotFound) {
		err = keys.ErrInvalidKey
	}
	if err != nil {
		return nil, err
	}
	return e.active(d.env, d.instant())
}

// Find is Lookup for a key of which the directory knows something. For any other key it returns
// keys.ErrNotCached, and does not ask the store.
func (d *Directory) Find(ctx context.Context, t keys.Token) (*keys.Caller, error) {
	if t.Environment() != d.env {
		return nil, keys.ErrInvalidKey
	}
	digest := t.Digest()
	e := d.callers.get(&digest)
	if e != nil && e.timeless && d.FeedHealthy() && d.feed.unchanged(e) {
		return &e.Caller, nil
	}
	now := d.clock.now()
	if e == nil || !d.fresh(e, now) {
		var err error
		if e, err = d.refresh(ctx, digest, e, now); err != nil {
			return nil, err
		}
	}
	return e.active(d.env, d.instant())
}

// refresh looks the caller up again. cached is what is known of it, nil for nothing.
func (d *Directory) refresh(ctx context.Context, digest keys.Digest, cached *entry, now time.Time) (*entry, error) {
	if u := d.unknown.get(&digest); u != nil && d.fresh(u, now) && now.UnixNano()-u.loadedAt < int64(unknownTTL) {
		return nil, keys.ErrInvalidKey
	}
	if cached == nil {
		return nil, keys.ErrNotCached
	}
	if d.feed.serveStale(cached, now) && d.health.down(now) {
		d.probe(ctx, cached, now)
		return cached, nil
	}
	e, err := d.load(ctx, digest, cached, now)
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, keys.ErrKeyNotFound):
		return nil, keys.ErrInvalidKey
	case d.feed.serveStale(cached, now):
		return cached, nil
	}
	return nil, err
}

// fresh reports whether the entry is good without asking the store.
func (d *Directory) fresh(e *entry, now time.Time) bool {
	if !d.FeedHealthy() && now.UnixNano()-e.loadedAt >= int64(lostTTL) {
		return false
	}
	return d.feed.unchanged(e)
}

// KeyChanged drops the key whose digest begins so.
func (d *Directory) KeyChanged(prefix keys.DigestPrefix) {
	d.feed.change(func(uint64) {
		if e := d.callers.withPrefix(prefix); e != nil {
			e.version.Store(dropped)
		}
		if e := d.unknown.withPrefix(prefix); e != nil {
			d.unknown.remove(&e.digest)
		}
	})
}

// TenantChanged drops all keys of the tenant.
func (d *Directory) TenantChanged(tenantID int64) {
	d.feed.change(func(version uint64) { d.feed.tenants.Store(tenantID, version) })
}

// AllChanged drops everything.
func (d *Directory) AllChanged() {
	d.feed.change(func(version uint64) {
		d.feed.all.Store(version)
		d.feed.tenants.Clear()
		d.tenants.Clear()
	})
}

// FeedLost says that changes since that time of time.Now may not have arrived.
func (d *Directory) FeedLost(since time.Time) {
	d.feed.lostSince.CompareAndSwap(0, d.clock.steady(since).UnixNano())
}

// FeedRestored says that changes arrive again. Those of the meantime did not, so everything is dropped.
func (d *Directory) FeedRestored() {
	d.AllChanged()
	d.health.failedAt.Store(0)
	d.feed.lostSince.Store(0)
}

// FeedHealthy reports whether changes arrive.
func (d *Directory) FeedHealthy() bool { return d.feed.lostSince.Load() == 0 }

// Len returns how many callers are cached.
func (d *Directory) Len() int { return int(d.callers.count.Load()) }
