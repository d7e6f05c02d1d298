package callers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
)

const (
	// cacheSize is how many callers are cached, at some 220 bytes each, and unknownSize how many
	// digests of no key.
	cacheSize   = 1_000_000
	unknownSize = 10_000
	// unknownTTL is how long a digest of no key is cached, unless the change feed drops it earlier.
	unknownTTL = 10 * time.Second
	// staleTTL is how long after the last proof callers are served from memory if the store is
	// down.
	staleTTL = 60 * time.Second
)

// Store looks callers up. It should run twice MaxQueries queries at the same time, and share its
// connections with nothing else: then known callers wait for no stranger, and no other query waits
// for look-ups.
type Store interface {
	// Callers returns the caller of each digest, without a tenant for a digest of no key, and an
	// error that is keys.ErrUnavailable if the store is down. It finds revoked and expired keys and
	// those of suspended tenants too.
	Callers(ctx context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error)
}

// Directory finds callers by their keys, from memory. It is safe for concurrent use.
//
// A cached caller is good until it changes, for a request that comes within 300 ms of a proof that
// the change feed works: the feed has passed on every change that was acknowledged before its last
// proof. A request that comes later, as after the process was frozen, asks for a proof at once and
// waits for it up to 100 ms. If none comes, the feed is lost, and a caller is good for 300 ms after
// it was looked up. So a change is missed for 300 ms at most, whatever happens to the feed or the
// process.
//
// If the store is down too, nobody can revoke a key, and cached callers are served for 60 seconds
// after the last proof. The first request that finds the store down waits for it; later ones do
// not, because the store is probed in the background. After the 60 seconds, and for callers that
// are not cached, Lookup returns keys.ErrUnavailable. When the feed is back, it drops everything.
//
// Look-ups share queries: while four are under way, further ones gather, and the next has up to 64
// of them. A lone look-up goes at once.
//
// Anybody can send a key that does not exist. So keys that are not cached have four queries of
// their own, and wait for 200 ms at most until theirs is sent. A caller that was cached stays known
// when it is dropped, and waits for no stranger.
//
// What a tenant has may end at an instant that is known before (plans.Tenant.Until). The entry has
// what follows, so at the instant itself the next caller is served, without a look-up or a notice.
// What follows the last change that was read is looked up when that has come.
//
// Two clocks: instants decide whether a key has expired or is banned; how long ago something was is
// measured by the monotonic clock, so that no clock that is set makes an entry, or a failure of the
// store, older or younger.
type Directory struct {
	store   Store
	env     keys.Environment
	instant func() time.Time
	clock   steadyClock

	callers *clockCache
	unknown *clockCache
	tenants tenantSet
	feed    feed

	// known and strangers have the look-ups of callers that had been cached, and of other keys.
	known, strangers gathering
	health           storeHealth

	// LookedUp counts the callers that had been cached and were looked up again, and the other
	// keys.
	LookedUp struct{ Known, Unknown atomic.Int64 }
}

// NewDirectory returns an empty directory for that environment. It decides expiry and bans by
// instant. Its change feed is lost until FeedProven is called. It panics if there is no
// environment: a forgotten one must accept no keys.
func NewDirectory(store Store, env keys.Environment, instant func() time.Time) *Directory {
	if env == "" {
		panic("callers: no environment")
	}
	d := &Directory{
		store:   store,
		env:     env,
		instant: instant,
		clock:   steadyClock{time.Now()},
		callers: newClockCache(cacheSize),
		unknown: newClockCache(unknownSize),
	}
	d.known.query = func(batch []*lookup) { d.query(batch, &d.LookedUp.Known) }
	d.strangers.query = func(batch []*lookup) { d.query(batch, &d.LookedUp.Unknown) }
	d.feed.begin(d.clock.start)
	return d
}

// Lookup returns the caller with that key. It returns keys.ErrInvalidKey if there is none, or with
// the caller a keys.StatusError if the key is not good, and an error that is keys.ErrUnavailable if
// that can't be known. A banned key is good: see keys.Caller.Banned. A key of another environment
// is never good: for one that the store does not know, or can't look up, the error is
// keys.ErrOtherEnvironment.
func (d *Directory) Lookup(ctx context.Context, t keys.Token) (*keys.Caller, error) {
	c, err := d.Find(ctx, t, time.Now())
	if !errors.Is(err, keys.ErrNotCached) {
		return c, err
	}
	now := d.clock.now()
	e, err := d.load(ctx, t.Digest(), nil, now)
	if errors.Is(err, keys.ErrKeyNotFound) {
		err = keys.ErrInvalidKey
	}
	if err != nil {
		return nil, explained(t, d.env, err)
	}
	return d.active(ctx, e)
}

// explained returns the error of an unknown key: that it is for another environment, or err.
func explained(t keys.Token, env keys.Environment, err error) error {
	if !env.Accepts(t.Environment()) && !errors.Is(err, keys.ErrNotCached) {
		return keys.ErrOtherEnvironment
	}
	return err
}

// Find is Lookup for a key that the directory knows. For any other key it returns
// keys.ErrNotCached, and does not ask the store. arrived is when the request did, by time.Now.
func (d *Directory) Find(ctx context.Context, t keys.Token, arrived time.Time) (*keys.Caller, error) {
	digest := t.Digest()
	e := d.callers.get(&digest)
	if e != nil && e.timeless && d.feed.isProven(arrived) && d.feed.unchanged(e) {
		return &e.Caller, nil
	}
	now := d.clock.steady(arrived)
	if e == nil || !d.feed.isFresh(e, now) {
		var err error
		if e, err = d.refresh(ctx, digest, e, now); err != nil {
			return nil, explained(t, d.env, err)
		}
	}
	return d.active(ctx, e)
}

// outlivedTries is how often a caller is looked up again because all changes that were known of
// have come.
const outlivedTries = 2

// active returns the entry's caller at this instant. If all changes that the entry knows of have
// come, the caller is looked up again.
func (d *Directory) active(ctx context.Context, e *entry) (*keys.Caller, error) {
	for range outlivedTries {
		c, err := e.active(d.env, d.instant())
		if !errors.Is(err, errOutlived) {
			return c, err
		}
		e.version.Store(dropped)
		if e, err = d.refresh(ctx, e.digest, e, d.clock.now()); err != nil {
			return nil, err
		}
	}
	c, err := e.active(d.env, d.instant())
	if errors.Is(err, errOutlived) {
		err = fmt.Errorf("look up caller: %w: %w", err, keys.ErrUnavailable)
	}
	return c, err
}

// refresh looks the caller up again. cached is what is known of it, nil for nothing.
func (d *Directory) refresh(ctx context.Context, digest keys.Digest, cached *entry, now time.Time) (*entry, error) {
	if u := d.unknown.get(&digest); u != nil && d.feed.isFresh(u, now) &&
		now.UnixNano()-u.loadedAt < int64(unknownTTL) {
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
	case d.feed.serveStale(cached, now) && d.health.down(now):
		return cached, nil
	}
	return nil, err
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
		d.tenants.byID.Clear()
	})
}

// FeedProven says that every change that was acknowledged before that time of time.Now has arrived.
func (d *Directory) FeedProven(at time.Time) {
	// The store has answered, too.
	d.health.answered(d.clock.steady(at))
	d.feed.prove(at)
}

// ProofWanted has a token when a request waits for a proof.
func (d *Directory) ProofWanted() <-chan struct{} { return d.feed.wanted }

// FeedLost says that changes do not arrive, and no proof will come soon.
func (d *Directory) FeedLost() { d.feed.setLost(true) }

// FeedHealthy reports whether changes arrive.
func (d *Directory) FeedHealthy() bool { return d.feed.age(d.clock.now()) < healthyFor }

// Len returns how many callers are cached.
func (d *Directory) Len() int { return int(d.callers.count.Load()) }
