package keys

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"petstore.example/internal/plans"
)

const (
	// cacheSize is how many callers are kept, at some 220 bytes each; unknownSize how many digests that are nobody's.
	cacheSize   = 1_000_000
	unknownSize = 10_000
	// unknownAge is how long a digest is remembered to be nobody's. A notice ends it sooner.
	unknownAge = 10 * time.Second
	// lostAge is how long a caller is believed while changes are not heard.
	lostAge = time.Second
	// outageAge is how long known callers are served when, besides, the store is away.
	outageAge = 60 * time.Second
	// loadTimeout bounds a look-up, loadWait how long a request waits for it. After one that failed, the store is left
	// alone for retryAfter.
	loadTimeout = 2 * time.Second
	loadWait    = 400 * time.Millisecond
	retryAfter  = 250 * time.Millisecond
)

// CallerStore looks callers up.
type CallerStore interface {
	// Caller returns ErrKeyNotFound for a digest that is nobody's, and an error that is ErrUnavailable when it can't
	// know. Revoked and expired keys and those of suspended tenants are found.
	Caller(ctx context.Context, digest Digest, now time.Time) (Caller, error)
}

// Directory answers whose key a token is, from memory. What it holds is dropped when it is told of a change.
//
// While changes are heard an entry is good until one comes. While they are not (FeedLost), an entry is believed for a
// second and then looked up again; when the store can't be asked either, nobody can revoke a key, and known callers
// are served for 60 seconds more. The first who finds that out waits for it; while it is known, the store is asked in the
// background. After that, and for callers not known, Lookup fails with ErrUnavailable.
// When changes are heard again, everything is dropped.
type Directory struct {
	store CallerStore
	env   Environment
	clock func() time.Time

	callers *table
	unknown *table
	loads   singleflight.Group

	// telling makes changes be told one at a time, and nothing be kept meanwhile.
	telling sync.Mutex
	// changes counts what was heard. An entry remembers the count from before it was loaded, or a later one at which it was still good: it
	// is good when nothing that concerns it has been heard since. The count goes up after what is noted below of the change.
	changes atomic.Uint64
	// allChanged is the count at the last change of everything, tenantsChanged that of each tenant's last.
	allChanged     atomic.Uint64
	tenantsChanged sync.Map // int64 → uint64

	// tenants are those of the callers, by id, as last loaded: a tenant's keys share it.
	tenants sync.Map // int64 → *plans.Tenant

	// lostSince is in Unix nanoseconds, 0 while changes are heard. failedAt is when a look-up last failed, answeredAt
	// when the store last answered one.
	lostSince  atomic.Int64
	failedAt   atomic.Int64
	answeredAt atomic.Int64
	// probing is true while a store that was away is asked in the background.
	probing atomic.Bool
}

// entry has first what a look-up reads: it is in as few cache lines as can be.
type entry struct {
	digest Digest
	// changes is Directory.changes from before the look-up, or from when it was last found that the entry is still good.
	changes atomic.Uint64
	// used is kept by table.
	used atomic.Bool
	// always: the key is good at any time, until a change.
	always bool
	Caller
	// loadedAt is when it was looked up, in Unix nanoseconds.
	loadedAt int64
}

// NewDirectory returns an empty directory for a deployment. It hears no changes until FeedRestored is called.
func NewDirectory(store CallerStore, env Environment, clock func() time.Time) *Directory {
	d := &Directory{
		store:   store,
		env:     env,
		clock:   clock,
		callers: newTable(cacheSize),
		unknown: newTable(unknownSize),
	}
	d.lostSince.Store(clock().UnixNano())
	return d
}

// Lookup returns the caller whose key it is. It returns ErrInvalidKey when the key is nobody's or not good here and
// now, and an error that is ErrUnavailable when that can't be known.
// A ban does not make a key invalid: see Caller.Banned.
func (d *Directory) Lookup(ctx context.Context, t Token) (*Caller, error) {
	if t.Environment() != d.env {
		return nil, ErrInvalidKey
	}
	e := d.callers.find(&t.digest)
	if e != nil && e.always && d.FeedHealthy() && d.unchanged(e) {
		// Nothing depends on the time, for which to ask takes 60 ns.
		return &e.Caller, nil
	}
	now := d.clock()
	if e == nil || !d.fresh(e, now) {
		var err error
		if e, err = d.refresh(ctx, t.digest, e, now); err != nil {
			return nil, err
		}
	}
	if e.Status(d.env, now) != Active {
		return nil, ErrInvalidKey
	}
	return &e.Caller, nil
}

// refresh looks the caller up. old is what was known before, nil for nothing.
func (d *Directory) refresh(ctx context.Context, digest Digest, old *entry, now time.Time) (*entry, error) {
	if u := d.unknown.find(&digest); u != nil && d.fresh(u, now) && now.UnixNano()-u.loadedAt < int64(unknownAge) {
		return nil, ErrInvalidKey
	}
	if old != nil && d.serveStale(old, now) && d.failing(now) {
		d.probe(ctx, digest, now)
		return old, nil
	}
	e, err := d.load(ctx, digest, now)
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, ErrKeyNotFound):
		return nil, ErrInvalidKey
	case old != nil && d.serveStale(old, now):
		return old, nil
	}
	return nil, err
}

// failing tells whether the store was away a moment ago and has answered nothing since.
func (d *Directory) failing(now time.Time) bool {
	failed := d.failedAt.Load()
	return failed > d.answeredAt.Load() && now.UnixNano()-failed < int64(lostAge)
}

// probe asks a store that was away again, in the background and one question at a time: nobody who is known waits for it.
func (d *Directory) probe(ctx context.Context, digest Digest, now time.Time) {
	if d.backingOff(now) || !d.probing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer d.probing.Store(false)
		_, _ = d.load(ctx, digest, now) // What it finds out is kept.
	}()
}

// backingOff tells whether the store failed so recently that it is left alone.
func (d *Directory) backingOff(now time.Time) bool {
	return now.UnixNano()-d.failedAt.Load() < int64(retryAfter)
}

// load asks the store, once for all who wait for the same answer. The answer is kept unless a change was heard
// meanwhile, which it might not show.
func (d *Directory) load(ctx context.Context, digest Digest, now time.Time) (*entry, error) {
	if d.backingOff(now) {
		return nil, fmt.Errorf("look up caller: %w", ErrUnavailable)
	}
	changes := d.changes.Load()
	// Who comes after a change does not share the answer to a question that was asked before it.
	flight := d.loads.DoChan(fmt.Sprintf("%x/%d", digest, changes), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return d.ask(ctx, digest, changes, now)
	})
	wait := time.NewTimer(loadWait)
	defer wait.Stop()
	select {
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*entry), nil
	case <-wait.C:
		d.failed(now)
		return nil, fmt.Errorf("look up caller: no answer in %v: %w", loadWait, ErrUnavailable)
	}
}

func (d *Directory) ask(ctx context.Context, digest Digest, changes uint64, now time.Time) (*entry, error) {
	c, err := d.store.Caller(ctx, digest, now)
	e := &entry{digest: digest, Caller: c, loadedAt: now.UnixNano()}
	e.changes.Store(changes)
	switch {
	case err == nil:
		d.answeredAt.Store(d.clock().UnixNano())
		d.intern(e)
		e.always = e.ExpiresAt.IsZero() && e.Status(d.env, now) == Active
		d.keep(d.callers, e)
	case errors.Is(err, ErrKeyNotFound):
		d.answeredAt.Store(d.clock().UnixNano())
		d.callers.remove(&digest)
		d.keep(d.unknown, e)
	default:
		d.failed(now)
	}
	return e, err
}

// failed notes that a question asked at that instant has no answer. A store that has answered another one since is busy
// and not away: it is asked on.
func (d *Directory) failed(asked time.Time) {
	if d.answeredAt.Load() <= asked.UnixNano() {
		d.failedAt.Store(d.clock().UnixNano())
	}
}

// intern has the entry hold what others hold already, where it is the same in everything.
func (d *Directory) intern(e *entry) {
	if e.Environment == d.env {
		e.Environment = d.env
	}
	if known, ok := d.tenants.Load(e.Tenant.ID); ok && *known.(*plans.Tenant) == *e.Tenant {
		e.Tenant = known.(*plans.Tenant)
		return
	}
	d.tenants.Store(e.Tenant.ID, e.Tenant)
}

// keep keeps the entry unless a change was heard since it was asked for. Under the lock, no change comes in between: an
// entry from before one is not there for an instant.
func (d *Directory) keep(in *table, e *entry) {
	d.telling.Lock()
	defer d.telling.Unlock()
	if d.changes.Load() == e.changes.Load() {
		in.put(e)
	}
}

// fresh tells whether nothing is known, or to be feared, to have changed since the entry was loaded.
func (d *Directory) fresh(e *entry, now time.Time) bool {
	if d.lostSince.Load() != 0 && now.UnixNano()-e.loadedAt >= int64(lostAge) {
		return false
	}
	return d.unchanged(e)
}

// unchanged tells whether nothing was heard that concerns the entry. Then it is good as of now, and one look at the count tells the next time.
func (d *Directory) unchanged(e *entry) bool {
	heard, good := d.changes.Load(), e.changes.Load()
	if good == heard {
		return true
	}
	if e.Tenant != nil {
		if at, ok := d.tenantsChanged.Load(e.Tenant.ID); ok && good < at.(uint64) {
			return false
		}
	}
	// After the tenants, which a change of everything clears when it has noted itself.
	if good < d.allChanged.Load() {
		return false
	}
	e.changes.Store(heard)
	return true
}

// serveStale tells whether the entry may still be used although the store is away.
func (d *Directory) serveStale(e *entry, now time.Time) bool {
	lost := d.lostSince.Load()
	return lost != 0 && now.UnixNano()-lost <= int64(outageAge) && d.unchanged(e)
}

// KeyChanged drops the key of that digest.
func (d *Directory) KeyChanged(digest Digest) {
	d.telling.Lock()
	defer d.telling.Unlock()
	d.changes.Add(1)
	d.callers.remove(&digest)
	d.unknown.remove(&digest)
}

// TenantChanged drops all keys of the tenant.
func (d *Directory) TenantChanged(tenantID int64) {
	d.telling.Lock()
	defer d.telling.Unlock()
	heard := d.changes.Load() + 1
	d.tenantsChanged.Store(tenantID, heard)
	d.changes.Store(heard)
}

// AllChanged drops everything.
func (d *Directory) AllChanged() {
	d.telling.Lock()
	defer d.telling.Unlock()
	heard := d.changes.Load() + 1
	d.allChanged.Store(heard)
	d.changes.Store(heard)
	d.tenantsChanged.Clear()
	d.tenants.Clear()
}

// FeedLost says that since that instant changes may not have been heard.
func (d *Directory) FeedLost(since time.Time) { d.lostSince.CompareAndSwap(0, since.UnixNano()) }

// FeedRestored says that changes are heard again. What changed meanwhile was not, so everything is dropped.
func (d *Directory) FeedRestored() {
	d.AllChanged()
	d.failedAt.Store(0)
	d.lostSince.Store(0)
}

// Len returns how many callers are held.
func (d *Directory) Len() int { return int(d.callers.held.Load()) }

// FeedHealthy tells whether changes are heard.
func (d *Directory) FeedHealthy() bool { return d.lostSince.Load() == 0 }
