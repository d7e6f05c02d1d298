package callers

import (
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
)

// feed numbers the changes of which the database tells. An entry whose version is that of the feed is good.
type feed struct {
	// mu lets one change be noted at a time, and no entry be cached meanwhile.
	mu sync.Mutex
	// version counts the changes. It grows after a change is noted below.
	version atomic.Uint64
	// all is the version of the last change of everything, tenants that of each tenant's last change (int64 →
	// uint64).
	all     atomic.Uint64
	tenants sync.Map
	// lostSince is in Unix nanoseconds, 0 while the feed is healthy.
	lostSince atomic.Int64
}

// unchanged reports whether nothing that concerns the entry has changed since its version. If so, it gives
// the entry the present version, so that the next look-up needs one comparison only.
func (f *feed) unchanged(e *entry) bool {
	present, good := f.version.Load(), e.version.Load()
	if good == present {
		return true
	}
	if e.Tenant != nil {
		if version, ok := f.tenants.Load(e.Tenant.ID); ok && good < version.(uint64) {
			return false
		}
	}
	// This comes after the tenants, because a change of everything clears them when it has noted itself.
	if good < f.all.Load() {
		return false
	}
	e.version.Store(present)
	return true
}

func (f *feed) change(note func(version uint64)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	version := f.version.Load() + 1
	note(version)
	f.version.Store(version)
}

// KeyChanged drops the key with that digest.
func (d *Directory) KeyChanged(digest keys.Digest) {
	d.feed.change(func(uint64) {
		d.callers.remove(&digest)
		d.unknown.remove(&digest)
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

// FeedLost says that changes since that instant may not have arrived.
func (d *Directory) FeedLost(since time.Time) { d.feed.lostSince.CompareAndSwap(0, since.UnixNano()) }

// FeedRestored says that changes arrive again. Those of the meantime did not, so everything is dropped.
func (d *Directory) FeedRestored() {
	d.AllChanged()
	d.health.failedAt.Store(0)
	d.feed.lostSince.Store(0)
}

// FeedHealthy reports whether changes arrive.
func (d *Directory) FeedHealthy() bool { return d.feed.lostSince.Load() == 0 }
