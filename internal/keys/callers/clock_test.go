package callers

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

func digestOf(n int) *keys.Digest {
	d := keys.Digest(sha256.Sum256(fmt.Append(nil, n)))
	return &d
}

func put(c *clockCache, n int) *entry {
	e := &entry{digest: *digestOf(n)}
	c.put(e)
	return e
}

// buckets returns all buckets, overflow buckets too.
func (c *clockCache) buckets() iter.Seq[*bucket] {
	return func(yield func(*bucket) bool) {
		for i := range c.shards {
			s := c.shards[i].Load()
			for j := range s.buckets {
				for b := &s.buckets[j]; b != nil; b = b.overflow.Load() {
					if !yield(b) {
						return
					}
				}
			}
		}
	}
}

func TestBucketSize(t *testing.T) {
	assert.Equal(t, unsafe.Sizeof(bucket{}), 64, "a bucket has bytes")
}

// The cache agrees with a map, and an empty one has no entries and no overflow buckets left.
func TestCacheIsAMap(t *testing.T) {
	t.Parallel()
	cache, want := newClockCache(100_000), map[int]*entry{}
	for range 20_000 {
		n := rand.IntN(7_000)
		if rand.IntN(3) > 0 {
			want[n] = put(cache, n)
			continue
		}
		cache.remove(digestOf(n))
		delete(want, n)
	}
	assert.Equal(t, int(cache.count.Load()), len(want), "entries")
	for n := range 7_000 {
		d := digestOf(n)
		if got := cache.get(d); got != want[n] {
			t.Fatalf("%d: got %p, want %p", n, got, want[n])
		}
		cache.remove(d)
	}
	for i := range cache.shards {
		assert.Equal(t, cache.shards[i].Load().count, 0, "shard", i, "counts entries")
	}
	for b := range cache.buckets() {
		if b.tags.Load() != 0 || b.overflow.Load() != nil {
			t.Errorf("an empty bucket keeps tags %x, overflow: %v", b.tags.Load(), b.overflow.Load() != nil)
		}
	}
}

// Digests of one bucket and tag are told apart, however many there are.
func TestCacheTellsAllDigestsApart(t *testing.T) {
	t.Parallel()
	cache, all := newClockCache(1000), make([]entry, 50)
	for i := range all {
		all[i].digest[31] = byte(i)
		cache.put(&all[i])
	}
	for i := range all {
		assert.Equal(t, cache.get(&all[i].digest), &all[i], i, "is not found")
		cache.remove(&all[i].digest)
		assert.True(t, cache.get(&all[i].digest) == nil, i, "is found after it was removed")
	}
}

// A flood of digests that come once neither exceeds the capacity nor evicts those that come again.
func TestFloodDoesNotEvictRegulars(t *testing.T) {
	t.Parallel()
	const capacity, regulars = 2000, 200
	cache := newClockCache(capacity)
	for n := range regulars {
		put(cache, n)
	}
	evicted := 0
	for n := range 10 * capacity {
		put(cache, regulars+n)
		if count := int(cache.count.Load()); count > capacity {
			t.Fatalf("%d entries, at most %d", count, capacity)
		}
		if again := n % regulars; cache.get(digestOf(again)) == nil {
			evicted++
			put(cache, again)
		}
	}
	// In its first turn the clock may pass regulars before their second time.
	assert.True(t, evicted <= regulars/10, "regulars were evicted", evicted, "times")
	count := int(cache.count.Load())
	assert.True(t, count >= capacity*9/10, count, "entries, want nearly", capacity)
}

// When all entries are used, one is evicted without a search of the whole cache.
func TestCacheFullOfUsedEntries(t *testing.T) {
	t.Parallel()
	const capacity = 20_000
	cache := newClockCache(capacity)
	for n := range capacity {
		put(cache, n).used.Store(true)
	}
	put(cache, capacity)
	if count := int(cache.count.Load()); count > capacity || count < capacity-2*bucketSize*loadFactor {
		t.Errorf("%d entries, want %d or a few less", count, capacity)
	}
	assert.True(t, cache.get(digestOf(capacity)) != nil, "the new entry is not found")
	unused := 0
	for b := range cache.buckets() {
		for k := range b.entries {
			if e := b.entries[k].Load(); e != nil && !e.used.Load() {
				unused++
			}
		}
	}
	assert.True(t, unused <= 2*maxAdvance*loadFactor, unused, "entries were searched")
}

// While entries are put and removed and shards grow, those that stay are found at any time and
// those removed are not.
func TestGetWhileOthersChange(t *testing.T) {
	t.Parallel()
	cache := newClockCache(1_000_000)
	const staying = 200
	for n := range staying {
		put(cache, n)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := 0; !done.Load(); n++ {
				if cache.get(digestOf(n%staying)) == nil {
					t.Errorf("%d is not found", n%staying)
					return
				}
			}
		})
	}
	for n := staying; n < 5_000 && !t.Failed(); n++ {
		put(cache, n)
		if d := digestOf(n); n%2 == 0 {
			cache.remove(d)
			assert.True(t, cache.get(d) == nil, n, "is found after it was removed")
		}
	}
	done.Store(true)
	readers.Wait()
}
