package callers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

const (
	// loadTimeout bounds a look-up in the store, loadWait how long a request waits for it. That of a known caller waits for knownWait, if the
	// store answers others meanwhile.
	loadTimeout = 2 * time.Second
	loadWait    = 400 * time.Millisecond
	knownWait   = time.Second
	// slotWait bounds the wait of a key that is not cached for its turn. It leaves time for the query.
	slotWait = loadWait / 2
	// retryInterval is how long the store is not asked after it failed, downFor how long it counts as down.
	retryInterval = 250 * time.Millisecond
	downFor       = time.Second
)

// storeHealth remembers whether the store answers. Times are in Unix nanoseconds.
type storeHealth struct {
	failedAt, answeredAt atomic.Int64
	// probing is true while a store that was down is asked in the background.
	probing atomic.Bool
}

// down reports whether the store failed a moment ago and has answered nothing since.
func (h *storeHealth) down(now time.Time) bool {
	return h.failedWithin(downFor, now)
}

// backingOff reports whether the store failed so recently that it is not asked.
func (h *storeHealth) backingOff(now time.Time) bool { return h.failedWithin(retryInterval, now) }

func (h *storeHealth) failedWithin(d time.Duration, now time.Time) bool {
	failed := h.failedAt.Load()
	return failed > h.answeredAt.Load() && now.UnixNano()-failed < int64(d)
}

// answered notes that the store answered at that instant.
func (h *storeHealth) answered(at time.Time) {
	for n, known := at.UnixNano(), h.answeredAt.Load(); known < n && !h.answeredAt.CompareAndSwap(known, n); {
		known = h.answeredAt.Load()
	}
}

// failed notes that a query sent at that instant failed. A store that has answered another query since is
// slow, not down.
func (h *storeHealth) failed(sent, now time.Time) {
	if h.answeredAt.Load() <= sent.UnixNano() {
		h.failedAt.Store(now.UnixNano())
	}
}

// probe asks a store that was down in the background, with one query at a time, so that no cached caller
// waits for it.
func (d *Directory) probe(ctx context.Context, cached *entry, now time.Time) {
	if d.health.backingOff(now) || !d.health.probing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer d.health.probing.Store(false)
		_, _ = d.load(ctx, cached.digest, cached, now) // It caches what it finds.
	}()
}

// load asks the store, once for all who wait for the same caller. The result is cached unless a change
// arrives meanwhile, because the result may be from before it. cached is what is known of the caller; if it is
// nil, the look-up waits for one of few slots.
func (d *Directory) load(ctx context.Context, digest keys.Digest, cached *entry, now time.Time) (*entry, error) {
	if d.health.backingOff(now) {
		return nil, fmt.Errorf("look up caller: %w", keys.ErrUnavailable)
	}
	version := d.feed.version.Load()
	// A look-up after a change does not share a query from before it, and none shares a query that began long before.
	began := now.Sub(d.clock.start) / freshFor
	result := d.loads.DoChan(fmt.Sprintf("%x/%d/%d", digest, version, began), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		if cached != nil {
			d.Queries.Known.Add(1)
			return d.query(ctx, digest, version, now)
		}
		if !d.unknownSlots.acquire(slotWait) {
			return nil, fmt.Errorf("look up caller: %d others are looked up: %w", maxUnknown, keys.ErrUnavailable)
		}
		defer d.unknownSlots.release()
		d.Queries.Unknown.Add(1)
		return d.query(ctx, digest, version, now)
	})
	waited := loadWait
	wait := time.NewTimer(waited)
	defer wait.Stop()
	for {
		next := d.feed.next()
		// On a busy machine a proof may come before the result.
		if cached != nil && d.feed.isProven(now) && d.feed.unchanged(cached) {
			return cached, nil
		}
		select {
		case <-next:
		case r := <-result:
			if r.Err != nil {
				return nil, r.Err
			}
			return r.Val.(*entry), nil
		case <-wait.C:
			if cached != nil {
				// The wait of another may have been for its slot.
				d.health.failed(now, d.clock.now())
				if waited < knownWait && !d.health.down(now) {
					wait.Reset(knownWait - waited)
					waited = knownWait
					continue
				}
			}
			return nil, fmt.Errorf("look up caller: no answer in %v: %w", waited, keys.ErrUnavailable)
		}
	}
}

// slots are how many may do something at the same time.
type slots chan struct{}

// acquire reports whether a slot became free in time.
func (s slots) acquire(within time.Duration) bool {
	wait := time.NewTimer(within)
	defer wait.Stop()
	select {
	case s <- struct{}{}:
		return true
	case <-wait.C:
		return false
	}
}

func (s slots) release() { <-s }

func (d *Directory) query(ctx context.Context, digest keys.Digest, version uint64, now time.Time) (*entry, error) {
	instant := d.instant()
	c, err := d.store.Caller(ctx, digest, instant)
	e := &entry{digest: digest, Caller: c, loadedAt: now.UnixNano()}
	e.version.Store(version)
	switch {
	case err == nil:
		d.health.answered(d.clock.now())
		if e.Environment == d.env {
			e.Environment = d.env // shares its text
		}
		e.Tenant = d.tenants.intern(e.Tenant)
		e.follow()
		e.timeless = e.ExpiresAt.IsZero() && e.Tenant.Until.IsZero() && e.Status(d.env, instant) == keys.Active
		d.feed.cache(d.callers, e)
	case errors.Is(err, keys.ErrKeyNotFound):
		d.health.answered(d.clock.now())
		d.callers.remove(&digest)
		d.feed.cache(d.unknown, e)
	default:
		d.health.failed(now, d.clock.now())
	}
	return e, err
}

// tenantSet holds the tenants of the cached callers by ID, so that the keys of a tenant share one *plans.Tenant.
type tenantSet struct{ byID sync.Map }

// intern returns the tenant, or an equal one that other callers have.
func (s *tenantSet) intern(t *plans.Tenant) *plans.Tenant {
	if known, ok := s.byID.Load(t.ID); ok && known.(*plans.Tenant).Equal(t) {
		return known.(*plans.Tenant)
	}
	s.byID.Store(t.ID, t)
	return t
}

// cache caches the entry. If there was a change since its version, a caller is cached as dropped: it is known, but
// is looked up again. Under the lock no change comes in between, so an entry from before a change is never used
// after it.
func (f *feed) cache(in *clockCache, e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version.Load() != e.version.Load() {
		if e.Tenant == nil || in.get(&e.digest) != nil {
			return
		}
		e.version.Store(dropped)
	}
	in.put(e)
}
