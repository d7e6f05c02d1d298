package callers

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// freshFor is how long a caller is served from memory after a proof, or after it was looked up.
	// So a change is missed for this long at most, whatever happens to the change feed or to the
	// process.
	freshFor = 300 * time.Millisecond
	// proofWait is how long a look-up waits for a proof that the feed works.
	proofWait = 100 * time.Millisecond
	// healthyFor is how old a proof may be while FeedHealthy reports true.
	healthyFor = time.Second
)

// steadyClock gives times by the monotonic clock, whatever the wall clock is set to.
type steadyClock struct{ start time.Time }

func (c steadyClock) now() time.Time { return c.steady(time.Now()) }

// steady returns the time at which time.Now returned t.
func (c steadyClock) steady(t time.Time) time.Time { return c.start.Add(t.Sub(c.start)) }

// dropped is the version of an entry whose key has changed. The feed's version is never 0.
const dropped = 0

// feed counts the changes that the change feed reports. An entry whose version equals the feed's is
// current as of the feed's last proof.
type feed struct {
	// mu is held while a change is recorded. So changes are recorded one at a time, and no entry is
	// cached meanwhile.
	mu sync.Mutex
	// version counts the changes. It grows after a change is recorded below.
	version atomic.Uint64
	// all is the version of the last change of everything. tenants has the version of each tenant's
	// last change (int64 → uint64).
	all     atomic.Uint64
	tenants sync.Map
	// proven is the time of the last proof, in nanoseconds since start. All changes acknowledged
	// before it are recorded in the fields above.
	proven atomic.Int64
	start  time.Time
	// lost is set while no proof is expected soon, so that nobody waits for one.
	lost atomic.Bool
	// wanted has a token while somebody waits for a proof. waitMu guards waiting, which the next
	// proof or loss closes.
	wanted  chan struct{}
	waitMu  sync.Mutex
	waiting chan struct{}
}

// begin sets the feed to lost.
func (f *feed) begin(now time.Time) {
	f.version.Store(dropped + 1)
	f.start, f.wanted, f.waiting = now, make(chan struct{}, 1), make(chan struct{})
	f.proven.Store(int64(-freshFor) - 1)
	f.lost.Store(true)
}

// age returns the age of the last proof.
func (f *feed) age(now time.Time) time.Duration {
	return now.Sub(f.start) - time.Duration(f.proven.Load())
}

// isProven reports whether all changes acknowledged more than freshFor before now are known. It
// must be called before unchanged: a change is recorded before the proof that covers it.
func (f *feed) isProven(now time.Time) bool { return f.age(now) <= freshFor }

// prove records a proof, and ends the wait for one.
func (f *feed) prove(at time.Time) {
	f.proven.Store(max(f.proven.Load(), int64(at.Sub(f.start))))
	f.setLost(false)
}

// setLost sets lost and ends the wait for a proof.
func (f *feed) setLost(lost bool) {
	f.lost.Store(lost)
	f.waitMu.Lock()
	defer f.waitMu.Unlock()
	close(f.waiting)
	f.waiting = make(chan struct{})
}

// next returns the channel that the next proof or loss closes.
func (f *feed) next() <-chan struct{} {
	f.waitMu.Lock()
	defer f.waitMu.Unlock()
	return f.waiting
}

// await asks for a proof, waits for it, and reports whether it came. All waiting look-ups share a
// proof. If it does not come in time, nobody waits again until the next one.
func (f *feed) await(now time.Time) bool {
	if f.lost.Load() {
		return f.isProven(now)
	}
	limit := time.NewTimer(proofWait)
	defer limit.Stop()
	for !f.isProven(now) {
		next := f.next()
		if f.lost.Load() || f.isProven(now) {
			break
		}
		select {
		case f.wanted <- struct{}{}:
		default:
		}
		select {
		case <-next:
		case <-limit.C:
			f.lost.Store(true)
		}
	}
	return f.isProven(now)
}

// unchanged reports whether nothing that concerns the entry has changed since its version. If so,
// it gives the entry the present version, so that the next look-up needs only one comparison.
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
	// The tenants are read before all, because a change of everything sets all first and then
	// clears the tenants.
	if good < f.all.Load() {
		return false
	}
	// The swap fails if another look-up was faster, or if the key changes.
	return e.version.CompareAndSwap(good, present) || f.unchanged(e)
}

// isFresh reports whether the entry is valid without asking the store. It may wait for a proof.
func (f *feed) isFresh(e *entry, now time.Time) bool {
	if !f.unchanged(e) {
		return false
	}
	recent := now.UnixNano()-e.loadedAt < int64(freshFor) || f.isProven(now) || f.await(now)
	return recent && f.unchanged(e)
}

// serveStale reports whether the entry may be used if the store is down.
func (f *feed) serveStale(e *entry, now time.Time) bool {
	return f.age(now) <= staleTTL && f.unchanged(e)
}

func (f *feed) change(note func(version uint64)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	version := f.version.Load() + 1
	note(version)
	f.version.Store(version)
}
