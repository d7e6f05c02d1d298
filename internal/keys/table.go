package keys

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// shardCount is a power of two up to 256. A shard grows by itself: what waits for it waits for a 64th of the whole.
	shardCount = 64
	// bucketSize makes a bucket one cache line.
	bucketSize = 6
	// fill is how many entries a bucket has on average, at most: one in forty is then in another than its first.
	fill = 4
	// sweep is how many buckets are searched for an entry that nobody has used lately. That takes some 100 µs.
	sweep = 256
)

// table holds entries by their digests, at most max of them and a little less once it was full. It is made for a million: to find one
// takes two misses of the processor's caches, one for its bucket and one for the entry itself; the cache library that was here before
// took eight.
//
// Finding takes no lock. What one goroutine has put or removed, all find so that begin afterwards.
//
// A full table drops who was not found since it last came by (CLOCK): a flood of keys that come once does not drive out those that
// come again.
type table struct {
	max    int
	shards [shardCount]atomic.Pointer[shard]

	mu   sync.Mutex // of who puts or removes
	held atomic.Int64
	// hand is where to look next for an entry to drop: a shard and a bucket of it.
	hand struct{ shard, bucket int }
}

// shard has a power of two of buckets. A digest is as good as random, so its bits are the hash: the first byte names the shard, the
// second is the tag, the eight after that say the bucket.
type shard struct {
	buckets []bucket
	held    int // under table.mu
}

// bucket has the tag of each entry in a byte of tags, 0 for none, so that hardly ever an entry is read that is not the right one.
// What does not fit is in the next.
type bucket struct {
	tags    atomic.Uint64
	entries [bucketSize]atomic.Pointer[entry]
	next    atomic.Pointer[bucket]
}

func newTable(most int) *table {
	t := &table{max: most}
	for i := range t.shards {
		t.shards[i].Store(&shard{buckets: make([]bucket, 1)})
	}
	return t
}

func (d *Digest) shard() int { return int(d[0]) % shardCount }

func (d *Digest) tag() byte { return max(d[1], 1) }

func (s *shard) bucket(d *Digest) *bucket {
	return &s.buckets[binary.LittleEndian.Uint64(d[2:])&uint64(len(s.buckets)-1)]
}

// find returns nil for what is not there.
func (t *table) find(d *Digest) *entry {
	b, i := t.shards[d.shard()].Load().bucket(d).find(d)
	if b == nil {
		return nil
	}
	e := b.entries[i].Load()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// find returns the bucket of the chain that has the digest, and where; nil for none.
func (b *bucket) find(d *Digest) (*bucket, int) {
	const ones = 0x01_01_01_01_01_01_01_01
	wanted := uint64(d.tag()) * ones
	for ; b != nil; b = b.next.Load() {
		// All tags at once: a loop's end can't be foreseen, and the processor would wait for it before it fetches the entry. In differ, the
		// bytes of the tag wanted are 0; in found, their highest bits are set and nothing else.
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

// put adds the entry, or has it take the place of that with its digest.
func (t *table) put(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, i := t.shards[e.digest.shard()].Load().bucket(&e.digest).find(&e.digest); b != nil {
		b.entries[i].Store(e)
		return
	}
	for int(t.held.Load()) >= t.max {
		t.drop()
	}
	s := t.shards[e.digest.shard()].Load()
	if s.held == fill*len(s.buckets) {
		s = s.grown()
		t.shards[e.digest.shard()].Store(s)
	}
	s.add(e)
	t.held.Add(1)
}

// grown returns the shard with twice the buckets. Who still searches the one from before finds what was there when it was left.
func (s *shard) grown() *shard {
	larger := &shard{buckets: make([]bucket, 2*len(s.buckets))}
	for i := range s.buckets {
		for b := &s.buckets[i]; b != nil; b = b.next.Load() {
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
	s.held++
	for b := s.bucket(&e.digest); ; b = b.next.Load() {
		for i := range b.entries {
			if b.entries[i].Load() == nil {
				b.set(i, e)
				return
			}
		}
		if b.next.Load() == nil {
			b.next.Store(&bucket{})
		}
	}
}

// set puts the entry before its tag, by which it is found.
func (b *bucket) set(i int, e *entry) {
	b.entries[i].Store(e)
	b.tags.Or(uint64(e.digest.tag()) << (8 * i))
}

func (b *bucket) clear(i int) {
	b.tags.And(^(uint64(0xff) << (8 * i)))
	b.entries[i].Store(nil)
}

// remove drops the entry of that digest, if there is one.
func (t *table) remove(d *Digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shards[d.shard()].Load()
	home := s.bucket(d)
	if b, i := home.find(d); b != nil {
		t.clear(s, b, i)
		home.unlinkEmpty()
	}
}

func (t *table) clear(s *shard, b *bucket, i int) {
	b.clear(i)
	s.held--
	t.held.Add(-1)
}

// unlinkEmpty takes buckets without entries out of the chain.
func (b *bucket) unlinkEmpty() {
	for next := b.next.Load(); next != nil; next = b.next.Load() {
		if next.tags.Load() == 0 {
			b.next.Store(next.next.Load())
		} else {
			b = next
		}
	}
}

// drop drops at least one entry: those of the next bucket that has any which were not found since the hand last came by. When nearly
// all were, it does not look for long.
func (t *table) drop() {
	for searched := 0; ; searched++ {
		s, home := t.turn()
		before := s.held
		for b := home; b != nil; b = b.next.Load() {
			for i := range b.entries {
				if e := b.entries[i].Load(); e != nil && (!e.used.Swap(false) || searched >= sweep) {
					t.clear(s, b, i)
				}
			}
		}
		if s.held < before {
			home.unlinkEmpty()
			return
		}
	}
}

// turn moves the hand on by a bucket.
func (t *table) turn() (*shard, *bucket) {
	s := t.shards[t.hand.shard].Load()
	if t.hand.bucket >= len(s.buckets) {
		t.hand.shard, t.hand.bucket = (t.hand.shard+1)%shardCount, 0
		s = t.shards[t.hand.shard].Load()
	}
	t.hand.bucket++
	return s, &s.buckets[t.hand.bucket-1]
}
