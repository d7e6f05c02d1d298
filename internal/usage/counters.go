package usage

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"
)

// keyUseInterval is the least time between two writes of a key's last use.
const keyUseInterval = time.Minute

// maxBatch is the maximum number of counts, and of uses, in a batch. It keeps a write short after
// an outage of the store, or when a hundred thousand keys call for the first time.
const maxBatch = 500

// shard holds the counts of some tenants since the last batch.
type shard struct {
	mu       sync.Mutex
	counters map[Bucket]*counter
	// most is the highest number of counters that the map has held. The map keeps the memory for
	// them.
	most    int
	tenants map[int64]*unrecorded
	// drains counts how often the counts were moved to batches.
	drains int64
	// refusals are those of windows that are used up, true when the store knows.
	refusals map[Refusal]bool
}

type shardSet [shards]shard

// of returns the shard of a tenant. All of the tenant's keys are in one shard, with the number of
// its unrecorded requests.
func (s *shardSet) of(tenantID int64) *shard { return &s[uint64(tenantID)%shards] }

// unrecorded is the number of a tenant's admitted requests that may not be recorded yet. Refunds do
// not lower it, because the requests may be recorded already.
type unrecorded struct {
	// waiting counts the requests since drain number drain. moved counts those in batches up to
	// drain number lastMoved.
	waiting, moved   int64
	drain, lastMoved int64
	// counters is the number of counters that refer to this struct.
	counters int
}

// add counts one more request, and returns the number of unrecorded requests. Everything moved up
// to drain number done is recorded.
func (u *unrecorded) add(drains, done int64) int64 {
	if u.lastMoved <= done {
		u.moved = 0
	}
	if u.drain != drains {
		if u.drain+1 > done {
			u.moved += u.waiting
			u.lastMoved = u.drain + 1
		}
		u.waiting, u.drain = 0, drains
	}
	u.waiting++
	return u.waiting + u.moved
}

type counter struct {
	admitted, refused int64
	minutes           Minutes
	tenant            *unrecorded
	// lastUsed is the time of the latest request. touched is true if there was one since the last
	// batch.
	lastUsed time.Time
	touched  bool
}

func (s *shard) add(bucket Bucket, at time.Time, admitted, refused int64) *counter {
	c, ok := s.counters[bucket]
	if !ok {
		c = &counter{tenant: s.tenants[bucket.TenantID]}
		if c.tenant == nil {
			c.tenant = &unrecorded{}
			s.tenants[bucket.TenantID] = c.tenant
		}
		c.tenant.counters++
		s.counters[bucket] = c
		s.most = max(s.most, len(s.counters))
	}
	c.touched = true
	c.admitted += admitted
	c.refused += refused
	if at.After(c.lastUsed) {
		c.lastUsed = at
	}
	return c
}

// remove forgets a bucket.
func (s *shard) remove(bucket Bucket, c *counter) {
	delete(s.counters, bucket)
	if c.tenant.counters--; c.tenant.counters == 0 {
		delete(s.tenants, bucket.TenantID)
	}
}

// collect moves the counts into new batches. It is called with m.turn held.
func (m *Meter) collect() []Batch {
	var counts []Count
	used := map[string]time.Time{}
	for i := range m.shards {
		counts = m.shards[i].drainInto(counts, used)
	}
	uses := m.dueUses(used)
	var batches []Batch
	for len(counts) > 0 || len(uses) > 0 {
		m.number++
		b := Batch{ServerID: m.serverID, Number: m.number}
		b.Counts, counts = split(counts)
		b.LastUsed, uses = split(uses)
		batches = append(batches, b)
	}
	return batches
}

// split splits off the first maxBatch elements.
func split[T any](all []T) (first, rest []T) {
	n := min(len(all), maxBatch)
	return all[:n:n], all[n:]
}

// drainInto appends the shard's counts and the time of each key's last use. It drops buckets
// without requests since the last batch. It keeps the others, so that a busy key costs no
// allocation.
func (s *shard) drainInto(counts []Count, used map[string]time.Time) []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	for bucket, c := range s.counters {
		if !c.touched {
			s.remove(bucket, c)
			continue
		}
		// A request that was refunded within the batch leaves nothing to add.
		if c.admitted != 0 || c.refused != 0 || c.minutes.InMinute != 0 || c.minutes.InPrevious != 0 {
			counts = append(counts, Count{Bucket: bucket, Admitted: c.admitted, Refused: c.refused, Minutes: c.minutes})
		}
		if c.lastUsed.After(used[bucket.KeyID]) {
			used[bucket.KeyID] = c.lastUsed
		}
		*c = counter{tenant: c.tenant}
	}
	s.drains++
	s.shrink()
	return counts
}

// shrink frees the memory of a burst of many keys. It is called with s.mu held.
func (s *shard) shrink() {
	if s.most < 64 || len(s.counters) > s.most/4 {
		return
	}
	// Neither a map nor its maps.Clone shrinks.
	fewer := make(map[Bucket]*counter, len(s.counters))
	maps.Copy(fewer, s.counters)
	s.counters, s.most = fewer, len(fewer)
}

// dueUses returns the uses of keys whose last recorded use is at least keyUseInterval ago, and
// remembers them as recorded.
func (m *Meter) dueUses(used map[string]time.Time) []KeyUse {
	now := m.clock().UnixMilli()
	for key, at := range m.recorded {
		if now-at >= keyUseInterval.Milliseconds() {
			delete(m.recorded, key)
		}
	}
	var due []KeyUse
	for keyID, at := range used {
		key := maphash.String(m.seed, keyID)
		if before, ok := m.recorded[key]; ok && at.UnixMilli()-before < keyUseInterval.Milliseconds() {
			continue
		}
		m.recorded[key] = at.UnixMilli()
		due = append(due, KeyUse{KeyID: keyID, At: at})
	}
	return due
}
