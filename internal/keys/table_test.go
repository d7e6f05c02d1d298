package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"petstore.example/internal/plans"
)

func digestOf(n int) Digest { return sha256.Sum256(fmt.Append(nil, n)) }

func put(t *table, n int) *entry {
	e := &entry{digest: digestOf(n)}
	t.put(e)
	return e
}

func (t *table) has(n int) bool {
	d := digestOf(n)
	return t.find(&d) != nil
}

// A bucket is one line of the processor's cache.
func TestBucketSize(t *testing.T) {
	if size := unsafe.Sizeof(bucket{}); size != 64 {
		t.Errorf("a bucket has %d bytes, want 64", size)
	}
}

// What was put last for a digest is found and what was removed is not, as a map has it; the table has no more buckets than it needs.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	table, want := newTable(100_000), map[int]*entry{}
	for range 60_000 {
		n := rand.IntN(20_000)
		if rand.IntN(3) > 0 {
			want[n] = put(table, n)
			continue
		}
		d := digestOf(n)
		table.remove(&d)
		delete(want, n)
	}
	for n := range 20_000 {
		d := digestOf(n)
		if got := table.find(&d); got != want[n] {
			t.Fatalf("%d: found %p, want %p", n, got, want[n])
		}
	}
	if held := int(table.held.Load()); held != len(want) {
		t.Errorf("%d held, want %d", held, len(want))
	}
	for n := range want {
		d := digestOf(n)
		table.remove(&d)
	}
	for i := range table.shards {
		s := table.shards[i].Load()
		if s.held != 0 {
			t.Errorf("shard %d holds %d of nothing", i, s.held)
		}
		for j := range s.buckets {
			if b := &s.buckets[j]; b.tags.Load() != 0 || b.next.Load() != nil {
				t.Errorf("bucket %d of shard %d keeps tags %x, more in the next: %v", j, i, b.tags.Load(), b.next.Load() != nil)
			}
		}
	}
}

// Digests that agree in all that places them are told apart, however many they are.
func TestTableTellsAllDigestsApart(t *testing.T) {
	t.Parallel()
	table, all := newTable(1000), make([]entry, 50)
	for i := range all {
		all[i].digest[31] = byte(i)
		table.put(&all[i])
	}
	for i := range all {
		if table.find(&all[i].digest) != &all[i] {
			t.Errorf("%d is not found", i)
		}
		table.remove(&all[i].digest)
		if table.find(&all[i].digest) != nil {
			t.Errorf("%d is found after it was removed", i)
		}
	}
}

// A flood of digests that come once neither goes over the bound nor drives out those that come again.
func TestFloodLeavesWhoComesAgain(t *testing.T) {
	t.Parallel()
	const most, regulars = 5000, 500
	table := newTable(most)
	for n := range regulars {
		put(table, n)
	}
	lost := 0
	for n := range 20 * most {
		put(table, regulars+n)
		if held := int(table.held.Load()); held > most {
			t.Fatalf("%d held, at most %d", held, most)
		}
		if again := n % regulars; !table.has(again) {
			lost++
			put(table, again)
		}
	}
	// At the start the hand may come before their second time.
	if lost > regulars/10 {
		t.Errorf("%d times one who comes again was dropped", lost)
	}
	if held := int(table.held.Load()); held < most*9/10 {
		t.Errorf("%d held, want nearly %d", held, most)
	}
}

// When all are in use, one has to go, and soon: the whole is not searched for it.
func TestFullTableOfUsedMakesRoom(t *testing.T) {
	t.Parallel()
	const most = 20_000
	table := newTable(most)
	for n := range most {
		put(table, n)
		table.has(n)
	}
	put(table, most)
	if held := int(table.held.Load()); held > most || held < most-2*bucketSize*fill {
		t.Errorf("%d held, want %d or a few less", held, most)
	}
	if !table.has(most) {
		t.Error("the new one is not found")
	}
	unused := 0
	for i := range table.shards {
		s := table.shards[i].Load()
		for j := range s.buckets {
			for b := &s.buckets[j]; b != nil; b = b.next.Load() {
				for k := range b.entries {
					if e := b.entries[k].Load(); e != nil && !e.used.Load() {
						unused++
					}
				}
			}
		}
	}
	if unused > 2*sweep*fill {
		t.Errorf("%d were searched", unused)
	}
}

// While others are put and removed, and shards grow, who is held is found at every instant and who was removed at none.
func TestTableIsFoundInWhileItChanges(t *testing.T) {
	t.Parallel()
	table := newTable(1_000_000)
	const held = 200
	for n := range held {
		put(table, n)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := 0; !done.Load(); n++ {
				if !table.has(n % held) {
					t.Errorf("%d is not found", n%held)
					return
				}
			}
		})
	}
	for n := held; n < 20_000 && !t.Failed(); n++ {
		put(table, n)
		if n%2 == 0 {
			d := digestOf(n)
			table.remove(&d)
			if table.has(n) {
				t.Errorf("%d is found after it was removed", n)
			}
		}
	}
	done.Store(true)
	readers.Wait()
}

// Changes of others that are heard meanwhile do not lose a change of the caller's own, which must be seen at once when it was told.
func TestNoStaleCallerAmongChanges(t *testing.T) {
	t.Parallel()
	d := newDirectoryTest(t)
	d.want(t, nil)
	var done atomic.Bool
	var others sync.WaitGroup
	for i := range 3 {
		others.Go(func() {
			for n := int64(2); !done.Load(); n++ {
				if i == 0 {
					d.TenantChanged(n % 100)
					continue
				}
				_, _ = d.Lookup(t.Context(), d.token)
			}
		})
	}
	unsure := 0
	tell := []func(){func() { d.KeyChanged(d.token.Digest()) }, func() { d.TenantChanged(1) }, d.AllChanged}
	for n := range 3000 {
		limit := int64(n + 1)
		d.set(func(c *Caller) { c.PerMinute = limit })
		tell[n%len(tell)]()
		c, err := d.Lookup(t.Context(), d.token)
		if errors.Is(err, ErrUnavailable) && unsure < 10 {
			unsure++ // On a busy machine the answer may take too long.
			time.Sleep(retryAfter)
			continue
		}
		if err != nil || c.PerMinute != limit {
			t.Errorf("after change %d: %+v, %v", limit, c, err)
			break
		}
	}
	done.Store(true)
	others.Wait()
}

// manyCallers knows every key.
type manyCallers struct{}

func (manyCallers) Caller(_ context.Context, d Digest, _ time.Time) (Caller, error) {
	return Caller{KeyID: fmt.Sprintf("key_%x", d[:8]), Environment: Live, Tenant: &plans.Tenant{ID: int64(d[8]) + 1}}, nil
}

// With changes, one of another tenant was heard after all were looked up.
func BenchmarkLookup(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(fmt.Sprintf("changes=%v", changes), func(b *testing.B) {
			d := NewDirectory(manyCallers{}, Live, time.Now)
			d.FeedRestored()
			tokens := make([]Token, 1024)
			for i := range tokens {
				var err error
				if tokens[i], err = NewToken(Live); err != nil {
					b.Fatal(err)
				}
				if _, err = d.Lookup(b.Context(), tokens[i]); err != nil {
					b.Fatal(err)
				}
			}
			if changes {
				d.TenantChanged(1000)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := d.Lookup(b.Context(), tokens[i%len(tokens)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
