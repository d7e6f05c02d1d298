package callers

import (
	"sync"
	"sync/atomic"
)

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
