package callers

import (
	"sync"
	"sync/atomic"
	"time"
)

// steadyClock gives times by the monotonic clock, whatever the wall clock is set to.
type steadyClock struct{ start time.Time }

func (c steadyClock) now() time.Time { return c.steady(time.Now()) }

// steady returns the time at which time.Now returned t.
func (c steadyClock) steady(t time.Time) time.Time { return c.start.Add(t.Sub(c.start)) }

// dropped is the version of an entry whose key has changed. The feed's is never that.
const dropped = 0

// feed counts the changes that the change feed reports. An entry whose version equals the feed's is current.
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
	if good == dropped {
		return false
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
	// It fails if another look-up was faster, or if the key changes.
	return e.version.CompareAndSwap(good, present) || f.unchanged(e)
}

// serveStale reports whether the entry may be used although the store is down.
func (f *feed) serveStale(e *entry, now time.Time) bool {
	lost := f.lostSince.Load()
	return lost != 0 && now.UnixNano()-lost <= int64(staleTTL) && f.unchanged(e)
}

func (f *feed) change(note func(version uint64)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	version := f.version.Load() + 1
	note(version)
	f.version.Store(version)
}
