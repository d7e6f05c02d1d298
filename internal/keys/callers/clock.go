package callers

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
)

const (
	// shardCount is a power of two up to 256. Shards grow one at a time, so that a put waits only
	// while a 64th of the entries is copied.
	shardCount = 64
	// bucketSize makes a bucket one line of the processor's cache.
	bucketSize = 6
	// loadFactor is the maximum average number of entries in a bucket. With it, one entry in forty
	// is in an overflow bucket.
	loadFactor = 4
	// maxAdvance is how many buckets evict searches for an unused entry. That takes some 100 µs.
	maxAdvance = 256
)

// entry is a cached caller or, without a tenant, the digest of an unknown key. The fields that a
// look-up reads are first, so that they are in few lines of the processor's cache.
type entry struct {
	digest keys.Digest
	// version is the feed's version before the entry was loaded, or a later one at which the entry
	// was still valid.
	version atomic.Uint64
	// used is set by each look-up that finds the entry, and cleared when the clock passes it.
	used atomic.Bool
	// timeless says that only a change ends the validity of the key or its tenant's present state.
	// So a look-up need not ask for the time.
	timeless bool
	keys.Caller
	// next is the caller after its tenant's present state ends, nil if unknown.
	next *nextCaller
	// loadedAt is in Unix nanoseconds.
	loadedAt int64
}

// nextCaller is the caller from the instant at which its tenant's earlier state ends.
type nextCaller struct {
	keys.Caller
	next *nextCaller
}

// errOutlived: the last known state of the entry's tenant has ended.
var errOutlived = errors.New("the cached state of the caller has expired")

// active returns the caller at the time, with a keys.StatusError if the key is not valid then. It
// returns errOutlived if the caller must be looked up again.
func (e *entry) active(env keys.Environment, now time.Time) (*keys.Caller, error) {
	if status := e.Status(env, now); status != keys.Active {
		return &e.Caller, keys.StatusError(status)
	}
	c, next := &e.Caller, e.next
	for c.Tenant.Ended(now) {
		if next == nil {
			return nil, errOutlived
		}
		c, next = &next.Caller, next.next
	}
	return c, nil
}

// follow sets next from the later states that the tenant has.
func (e *entry) follow() {
	e.next = nil
	for last, t := &e.next, e.Tenant.Next; t != nil; t = t.Next {
		*last = &nextCaller{Caller: e.Caller}
		(*last).Tenant = t
		last = &(*last).next
	}
}

// clockCache is a hash table of entries by digest with CLOCK eviction: a full one evicts entries
// that were not used since the clock last passed them. So a flood of keys that are used once does
// not evict keys that are used again.
//
// It is made for a million entries, where a look-up waits for memory: get reads one cache line for
// the bucket and then the entry. Maps for any key type read three lines and more (ADR 4). get takes
// no lock, and finds whatever was put before it.
type clockCache struct {
	capacity int
	shards   [shardCount]atomic.Pointer[shard]

	mu    sync.Mutex // for put and remove
	count atomic.Int64
	// hand is the position of the clock: a shard, and its next bucket.
	hand struct{ shard, bucket int }
}

// shard has a power of two of buckets. A digest is random, so its bits are the hash: the first byte
// selects the shard, the second is the tag, and the next eight select the bucket.
type shard struct {
	buckets []bucket
	count   int // under clockCache.mu
}

// bucket has a tag of one byte for each entry, 0 for none. Tags are compared first, so few entries
// are read in vain.
type bucket struct {
	tags     atomic.Uint64
	entries  [bucketSize]atomic.Pointer[entry]
	overflow atomic.Pointer[bucket]
}

func newClockCache(capacity int) *clockCache {
	c := &clockCache{capacity: capacity}
	for i := range c.shards {
		c.shards[i].Store(&shard{buckets: make([]bucket, 1)})
	}
	return c
}

func (c *clockCache) shard(d *keys.Digest) *atomic.Pointer[shard] { return &c.shards[d[0]%shardCount] }

func tag(d *keys.Digest) byte { return max(d[1], 1) }

func (s *shard) bucket(d *keys.Digest) *bucket {
	return &s.buckets[binary.LittleEndian.Uint64(d[2:])&uint64(len(s.buckets)-1)]
}

// get returns nil if there is no entry with the digest.
func (c *clockCache) get(d *keys.Digest) *entry {
	b, i := c.shard(d).Load().bucket(d).find(d)
	if b == nil {
		return nil
	}
	e := b.entries[i].Load()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// find returns the bucket from b on that has the digest, and the digest's index in it, or nil.
func (b *bucket) find(d *keys.Digest) (*bucket, int) {
	const ones = 0x01_01_01_01_01_01_01_01
	wanted := uint64(tag(d)) * ones
	for ; b != nil; b = b.overflow.Load() {
		// All tags are compared at once, without a branch to mispredict. In differ, the bytes of
		// equal tags are 0. In found, those bytes have their highest bit set, and all other bits
		// are 0.
		differ := b.tags.Load() ^ wanted
		for found := ^((differ&(0x7f*ones) + 0x7f*ones) | differ | 0x7f*ones); found != 0; found &= found - 1 {
			i := bits.TrailingZeros64(found) / 8
			if e := b.entries[i%bucketSize].Load(); e != nil && e.digest == *d {
				return b, i
			}
		}
	}
	return nil, 0
}

// withPrefix returns an entry whose digest has the prefix, nil for none. The prefix has all bits
// that select the bucket.
func (c *clockCache) withPrefix(p keys.DigestPrefix) *entry {
	var d keys.Digest
	copy(d[:], p[:])
	for b := c.shard(&d).Load().bucket(&d); b != nil; b = b.overflow.Load() {
		for i := range b.entries {
			if e := b.entries[i].Load(); e != nil && e.digest.Prefix() == p {
				return e
			}
		}
	}
	return nil
}

// put adds the entry, or replaces the one with its digest.
func (c *clockCache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.shard(&e.digest)
	if b, i := in.Load().bucket(&e.digest).find(&e.digest); b != nil {
		b.entries[i].Store(e)
		return
	}
	for int(c.count.Load()) >= c.capacity {
		c.evict()
	}
	s := in.Load()
	if s.count == loadFactor*len(s.buckets) {
		s = s.grown()
		in.Store(s)
	}
	s.add(e)
	c.count.Add(1)
}

// grown returns a copy of the shard with twice the buckets. A concurrent get still finds everything
// in the old one.
func (s *shard) grown() *shard {
	larger := &shard{buckets: make([]bucket, 2*len(s.buckets))}
	for i := range s.buckets {
		for b := &s.buckets[i]; b != nil; b = b.overflow.Load() {
			for j := range b.entries {
				if e := b.entries[j].Load(); e != nil {
					larger.add(e)
				}
			}
		}
	}
	return larger
}

func (s *shard) add(e *entry) {
	s.count++
	for b := s.bucket(&e.digest); ; b = b.overflow.Load() {
		for i := range b.entries {
			if b.entries[i].Load() == nil {
				// The tag is stored last, because it makes the entry findable.
				b.entries[i].Store(e)
				b.tags.Or(uint64(tag(&e.digest)) << (8 * i))
				return
			}
		}
		if b.overflow.Load() == nil {
			b.overflow.Store(&bucket{})
		}
	}
}

// remove removes the entry with the digest, if there is one.
func (c *clockCache) remove(d *keys.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shard(d).Load()
	home := s.bucket(d)
	if b, i := home.find(d); b != nil {
		c.clear(s, b, i)
		home.unlinkEmpty()
	}
}

func (c *clockCache) clear(s *shard, b *bucket, i int) {
	b.tags.And(^(uint64(0xff) << (8 * i)))
	b.entries[i].Store(nil)
	s.count--
	c.count.Add(-1)
}

// unlinkEmpty removes empty overflow buckets from the chain.
func (b *bucket) unlinkEmpty() {
	for next := b.overflow.Load(); next != nil; next = b.overflow.Load() {
		if next.tags.Load() == 0 {
			b.overflow.Store(next.overflow.Load())
		} else {
			b = next
		}
	}
}

// evict advances the clock to a bucket with unused entries and removes them. After maxAdvance
// buckets it removes used ones too.
func (c *clockCache) evict() {
	for advanced := 0; ; advanced++ {
		s, home := c.advance()
		before := s.count
		for b := home; b != nil; b = b.overflow.Load() {
			for i := range b.entries {
				if e := b.entries[i].Load(); e != nil && (!e.used.Swap(false) || advanced >= maxAdvance) {
					c.clear(s, b, i)
				}
			}
		}
		if s.count < before {
			home.unlinkEmpty()
			return
		}
	}
}

// advance moves the clock's hand on by a bucket and returns the one it passed.
func (c *clockCache) advance() (*shard, *bucket) {
	s := c.shards[c.hand.shard].Load()
	if c.hand.bucket >= len(s.buckets) {
		c.hand.shard, c.hand.bucket = (c.hand.shard+1)%shardCount, 0
		s = c.shards[c.hand.shard].Load()
	}
	c.hand.bucket++
	return s, &s.buckets[c.hand.bucket-1]
}
