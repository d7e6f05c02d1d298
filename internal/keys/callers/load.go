package callers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

const (
	// loadTimeout bounds a look-up in the store, loadWait how long a request waits for it. If the
	// store answers other queries meanwhile, the request of a known caller waits for knownWait.
	loadTimeout = 2 * time.Second
	loadWait    = 400 * time.Millisecond
	knownWait   = time.Second
	// slotWait bounds the wait of an uncached key until its query is sent. It leaves time for the
	// query.
	slotWait = loadWait / 2
	// retryInterval is how long the store is not asked after a failure, downFor how long it counts
	// as down.
	retryInterval = 250 * time.Millisecond
	downFor       = time.Second
)

// storeHealth remembers whether the store answers. Times are in Unix nanoseconds.
type storeHealth struct {
	failedAt, answeredAt atomic.Int64
	// probing is true while probe asks the store.
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

// answered records that the store answered at that instant.
func (h *storeHealth) answered(at time.Time) {
	for n, known := at.UnixNano(), h.answeredAt.Load(); known < n && !h.answeredAt.CompareAndSwap(known, n); {
		known = h.answeredAt.Load()
	}
}

// failed records that a query sent at that instant failed. A store that has answered another query
// since is slow, not down.
func (h *storeHealth) failed(sent, now time.Time) {
	if h.answeredAt.Load() <= sent.UnixNano() {
		h.failedAt.Store(now.UnixNano())
	}
}

// late records that a query sent at that instant has no answer yet, and reports whether the store
// answers other queries.
func (h *storeHealth) late(sent, now time.Time) bool {
	h.failed(sent, now)
	return !h.down(now)
}

// probe asks the store again after a failure: in the background, so that no cached caller waits for
// it, and with one query at a time.
func (d *Directory) probe(ctx context.Context, cached *entry, now time.Time) {
	if d.health.backingOff(now) || !d.health.probing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer d.health.probing.Store(false)
		_, _ = d.load(ctx, cached.digest, cached, now) // load caches its result.
	}()
}

// load asks the store, once for all requests that wait for the same caller. The result is not
// cached if a change arrives meanwhile, because it may be older than the change. cached is the
// caller's entry, nil for none.
func (d *Directory) load(ctx context.Context, digest keys.Digest, cached *entry, now time.Time) (*entry, error) {
	if d.health.backingOff(now) {
		return nil, fmt.Errorf("look up caller: %w", keys.ErrUnavailable)
	}
	with, waited := &d.known, loadWait
	if cached == nil {
		with, waited = &d.strangers, slotWait
	}
	// A look-up joins no query from before a change, and none that began long ago.
	began := now.Sub(d.clock.start) / freshFor
	l := with.join(ctx, lookupID{digest, d.feed.version.Load(), began}, now)
	defer with.leave(l)
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
		case <-l.done:
			return l.found, l.err
		case <-wait.C:
			longer := waited
			switch {
			case cached == nil && with.isSent(l):
				longer = loadWait
			// The look-up may have waited until other queries ended.
			case cached != nil && d.health.late(now, d.clock.now()):
				longer = knownWait
			}
			if longer == waited {
				return nil, fmt.Errorf("look up caller: no answer in %v: %w", waited, keys.ErrUnavailable)
			}
			wait.Reset(longer - waited)
			waited = longer
		}
	}
}

// query asks the store for all callers of a batch, and caches them.
func (d *Directory) query(batch []*lookup, count *atomic.Int64) {
	count.Add(int64(len(batch)))
	digests := make([]keys.Digest, len(batch))
	for i, l := range batch {
		digests[i] = l.digest
	}
	ctx, cancel := context.WithTimeout(batch[0].ctx, loadTimeout)
	defer cancel()
	instant := d.instant()
	found, err := d.store.Callers(ctx, digests, instant)
	if err != nil {
		for _, l := range batch {
			l.err = err
			d.health.failed(l.wanted, d.clock.now())
		}
		return
	}
	d.health.answered(d.clock.now())
	for i, l := range batch {
		e := &entry{digest: l.digest, Caller: found[i], loadedAt: l.wanted.UnixNano()}
		e.version.Store(l.version)
		if e.Tenant == nil {
			l.err = fmt.Errorf("look up caller: %w", keys.ErrKeyNotFound)
			d.callers.remove(&l.digest)
			d.feed.cache(d.unknown, e)
			continue
		}
		if e.Environment == d.env {
			e.Environment = d.env // shares its text
		}
		e.Tenant = d.tenants.intern(e.Tenant)
		e.follow()
		e.timeless = e.ExpiresAt.IsZero() && e.Tenant.Until.IsZero() && e.Status(d.env, instant) == keys.Active
		d.feed.cache(d.callers, e)
		l.found = e
	}
}

// tenantSet holds the tenants of the cached callers by ID, so that a tenant's keys share one
// *plans.Tenant.
type tenantSet struct{ byID sync.Map }

// intern returns the tenant, or an equal one that other callers share.
func (s *tenantSet) intern(t *plans.Tenant) *plans.Tenant {
	if known, ok := s.byID.Load(t.ID); ok && known.(*plans.Tenant).Equal(t) {
		return known.(*plans.Tenant)
	}
	s.byID.Store(t.ID, t)
	return t
}

// cache caches the entry. If the feed's version has changed since, a caller is cached as dropped:
// it becomes known, but is looked up again. The lock keeps changes from coming in between, so an
// entry from before a change is never used after it.
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
