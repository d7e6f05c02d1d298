package pagecache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/test/assert"
)

// growing is a catalogue of animals with their versions, by ID, whose pages have four. An animal
// gets its ID before it can be seen, as in Postgres.
type growing struct {
	*freshness.Memory
	pause func(most int)
	// mu guards the rest. known are the animals that every list must have: those acknowledged, and
	// those seen.
	mu     sync.Mutex
	lastID int
	pets   map[int]int
	known  map[int]int
	reads  int
}

const growingPage = 4

// write adds an animal, or changes the first one, and announces a write of that kind.
func (g *growing) write(t *testing.T, adds bool, k freshness.Kind) {
	w, err := g.BeginWrite(t.Context(), 1, k)
	assert.NoError(t, err)
	step := func(do func()) {
		g.pause(1000)
		g.mu.Lock()
		defer g.mu.Unlock()
		do()
	}
	id, version := 1, 0
	step(func() {
		if adds {
			g.lastID++
			id = g.lastID
		}
	})
	step(func() { g.pets[id]++; version = g.pets[id] })
	step(func() { assert.Equal(t, w.Commit(), nil) })
	step(func() { g.known[id] = max(g.known[id], version) })
}

// page returns the page of the animals that can be seen: a byte for each ID, its version or 0.
func (g *growing) page() *Page {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads++
	p, has := &Page{}, 0
	for id := 1; id <= g.lastID; id++ {
		if g.pets[id] > 0 {
			if has++; has > growingPage {
				p.Next = "more"
				break
			}
		}
		p.Body = append(p.Body, byte(g.pets[id]))
	}
	return p
}

// list requests the first page as the API does. It returns a complaint if an animal is missing or
// old.
func (g *growing) list(c *Cache) (complaint string) {
	stamp := g.Stamp(1)
	g.mu.Lock()
	known := maps.Clone(g.known)
	g.mu.Unlock()
	g.pause(500)
	p := c.Get(Key{}, stamp)
	if p == nil {
		p, _ = c.Read(Key{}, stamp, func() (*Page, error) {
			g.pause(1000)
			defer g.pause(1000)
			return g.page(), nil
		})
	}
	for id, version := range known {
		if id <= len(p.Body) && int(p.Body[id-1]) < version || id > len(p.Body) && p.Next == "" {
			complaint = fmt.Sprintf(
				"version %d of animal %d was known before, and the page has %v",
				version,
				id,
				p.Body,
			)
		}
	}
	g.pause(500)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, version := range p.Body {
		g.known[i+1] = max(g.known[i+1], int(version))
	}
	return complaint
}

// simulate has writers and readers of a catalogue that grows beyond its first page, and returns the
// complaints and how often the page was read.
func simulate(t *testing.T, seed uint64, changes freshness.Kind) (complaints []string, reads int) {
	synctest.Test(t, func(t *testing.T) {
		rnd, mu := rand.New(rand.NewPCG(seed, 0)), sync.Mutex{}
		g := &growing{
			Memory: freshness.NewMemory(func() (int64, time.Time, bool) { return 1, time.Time{}, true }),
			lastID: 1,
			pets:   map[int]int{1: 1},
			known:  map[int]int{},
		}
		g.pause = func(most int) {
			mu.Lock()
			d := time.Duration(rnd.IntN(most))
			mu.Unlock()
			time.Sleep(d)
		}
		c, err := New(1<<20, func(int64) (current, existing freshness.Stamp) { return g.Stamps(1) }, nil, nil)
		assert.NoError(t, err)
		t.Cleanup(func() { c.pages.StopAllGoroutines() })
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for round := range 20 {
					g.pause(8000)
					switch {
					case i < 2:
						g.write(t, true, freshness.Adds)
					case i == 2 && round%4 == 0:
						g.write(t, false, changes)
					default:
						if complaint := g.list(c); complaint != "" {
							mu.Lock()
							complaints = append(complaints, complaint)
							mu.Unlock()
						}
					}
				}
			})
		}
		all.Wait()
		reads = g.reads
	})
	return complaints, reads
}

// TestFullPagesStayWhileAnimalsAreAdded: none lacks an animal that was known before the request, or
// shows an older version of it.
func TestFullPagesStayWhileAnimalsAreAdded(t *testing.T) {
	t.Parallel()
	sum := 0
	for seed := range uint64(200) {
		complaints, reads := simulate(t, seed, freshness.Changes)
		assert.Equal(t, len(complaints), 0, "seed", seed, complaints)
		sum += reads
	}
	assert.True(t, sum < 8_000, "the page was read", sum, "times in", 200*115, "requests")
	wrong := 0
	for seed := range uint64(20) {
		complaints, _ := simulate(t, seed, freshness.Adds)
		wrong += len(complaints)
	}
	assert.True(t, wrong > 0, "changes that are announced as additions are not noticed")
}
