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
	// cacheSize is the number of cached callers, at some 220 bytes each, unknownSize the number of
	// cached digests of unknown keys.
	cacheSize   = 1_000_000
	unknownSize = 10_000
	// unknownTTL is how long the digest of an unknown key is cached, unless the change feed drops
	// it earlier.
	unknownTTL = 10 * time.Second
	// staleTTL is how long after the last proof callers are served from memory if the store is
	// down.
	staleTTL = 60 * time.Second
)

// Store looks callers up. It should run twice MaxQueries queries at the same time, and share its
// connections with nothing else. Then known callers do not wait for strangers, and other queries do
// not wait for look-ups.
type Store interface {
	// Callers returns the caller of each digest; the caller of an unknown key has no tenant. The
	// error is keys.ErrUnavailable if the store is down. Callers also finds revoked and expired
	// keys, and keys of suspended tenants.
	Callers(ctx context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error)
}

// Directory finds callers by their keys, from memory. It is safe for concurrent use.
//
// A proof means that the change feed has passed on every change acknowledged before it. A request
// within 300 ms of the last proof gets the cached caller unless a change has dropped it. A later
// request, as after a freeze of the process, asks for a proof at once and waits up to 100 ms for
// it. If none comes, the feed is lost, and a cached caller is valid for only 300 ms after its
// look-up. So a change is missed for 300 ms at most, whatever happens to the feed or the process.
//
// If the store is down too, nobody can revoke a key, and cached callers are served for 60 seconds
// after the last proof. The first request that finds the store down waits for it. Later ones do
// not, because the store is probed in the background. After the 60 seconds, and for callers that
// are not cached, Lookup returns keys.ErrUnavailable. When the feed is back, it drops everything.
//
// Look-ups share queries: while four queries are under way, further look-ups gather, and the next
// query has up to 64 of them. A lone look-up is sent at once.
//
// Anybody can send a key that does not exist. So keys that are not cached have four queries of
// their own, and wait at most 200 ms until theirs is sent. A dropped caller still counts as cached,
// so it never waits for strangers.
//
// A tenant's present state may end at a known instant (plans.Tenant.Until). The entry has the next
// state too, and serves it from that instant on, without a look-up or a notification. After the
// last known state, the caller is looked up again.
//
// There are two clocks. Instants decide whether a key has expired or is banned. The monotonic clock
// measures the ages of entries and of failures of the store, so that setting a clock changes none.
type Directory struct {
	store   Store
	env     keys.Environment
	instant func() time.Time
	clock   steadyClock

	callers *clockCache
	unknown *clockCache
	tenants tenantSet
	feed    feed

	// known has the look-ups of callers that were cached before, strangers those of other keys.
	known, strangers gathering
	health           storeHealth

	// LookedUp counts the look-ups of callers that were cached before, and of other keys.
	LookedUp struct{ Known, Unknown atomic.Int64 }
}

// NewDirectory returns an empty directory for that environment. It decides expiry and bans by
// instant. Its change feed is lost until FeedProven is called. NewDirectory panics if env is empty,
// so that a forgotten environment accepts no keys.
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

// Lookup returns the caller with that key. The error is keys.ErrInvalidKey if there is none, a
// keys.StatusError (with the caller) if the key is not valid, or keys.ErrUnavailable if that can't
// be known. A banned key is valid: see keys.Caller.Banned. A key of another environment is never
// valid: if the store does not know it, or can't look it up, the error is keys.ErrOtherEnvironment.
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

// explained returns the error for an unknown key: keys.ErrOtherEnvironment, or err.
func explained(t keys.Token, env keys.Environment, err error) error {
	if !env.Accepts(t.Environment()) && !errors.Is(err, keys.ErrNotCached) {
		return keys.ErrOtherEnvironment
	}
	return err
}

// Find is Lookup for a key that the directory knows. For any other key it returns
// keys.ErrNotCached, and does not ask the store. arrived is when the request arrived, by time.Now.
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

// outlivedTries is how often active looks a caller up again because of errOutlived.
const outlivedTries = 2

// active returns the entry's caller at this instant. If the entry's last known state has ended,
// active looks the caller up again.
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

// refresh looks the caller up again. cached is its entry, nil for none.
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

// KeyChanged drops the key whose digest has the prefix.
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

// FeedProven says that every change acknowledged before that time (by time.Now) has arrived.
func (d *Directory) FeedProven(at time.Time) {
	// The proof also means that the store has answered.
	d.health.answered(d.clock.steady(at))
	d.feed.prove(at)
}

// ProofWanted has a token when a request waits for a proof.
func (d *Directory) ProofWanted() <-chan struct{} { return d.feed.wanted }

// FeedLost says that changes do not arrive, and no proof will come soon.
func (d *Directory) FeedLost() { d.feed.setLost(true) }

// FeedHealthy reports whether changes arrive.
func (d *Directory) FeedHealthy() bool { return d.feed.age(d.clock.now()) < healthyFor }

// Len returns the number of cached callers.
func (d *Directory) Len() int { return int(d.callers.count.Load()) }
