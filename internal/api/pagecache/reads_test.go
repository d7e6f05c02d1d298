package pagecache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/test/assert"
)

// fakeReads loads pages of a cache, each in a second. A page's Tag says which of the reads it comes
// from: "1" is the first.
type fakeReads struct {
	*Cache
	mu      sync.Mutex
	begun   int
	results map[string]string
	all     sync.WaitGroup
}

// newCache returns a cache for a bubble, in which no goroutine may stay.
func newCache(t *testing.T) *Cache {
	t.Helper()
	c, err := New(1<<20, nil, nil, nil)
	assert.NoError(t, err)
	t.Cleanup(func() { c.pages.StopAllGoroutines() })
	return c
}

func newFakeReads(t *testing.T) *fakeReads {
	t.Helper()
	return &fakeReads{Cache: newCache(t), results: map[string]string{}}
}

var errBroken = errors.New("broken")

// read requests a page in the background. load is called while the read is under way.
func (f *fakeReads) read(name string, stamp freshness.Stamp, load func() error) {
	f.all.Go(func() {
		defer func() {
			if recover() != nil {
				f.got(name, "panic")
			}
		}()
		p, err := f.Read(Key{Tenant: 1}, stamp, func() (*Page, error) {
			f.mu.Lock()
			f.begun++
			p := &Page{Tag: string(rune('0' + f.begun))}
			f.mu.Unlock()
			time.Sleep(time.Second)
			return p, load()
		})
		if err != nil {
			f.got(name, err.Error())
			return
		}
		f.got(name, p.Tag)
	})
	synctest.Wait()
}

func (f *fakeReads) got(name, result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[name] = result
}

func (f *fakeReads) want(t *testing.T, want map[string]string) {
	t.Helper()
	f.all.Wait()
	assert.DeepEqual(t, f.results, want, "which read each request")
	assert.Equal(t, len(f.reads.newest), 0, "reads stay")
}

func worked() error { return nil }

// TestReadsAreShared: requests with one stamp share the read under way, those with none the next
// one, which begins after it.
func TestReadsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeReads(t)
		f.read("first", 7, worked)
		f.read("the same stamp", 7, worked)
		f.read("another stamp", 8, worked)
		f.read("the other stamp too", 8, worked)
		f.read("no stamp", 0, worked)
		f.read("no stamp either", 0, worked)
		f.read("a stamp before the next read", 9, worked)
		f.mu.Lock()
		assert.Equal(t, f.begun, 2, "reads have begun")
		f.mu.Unlock()
		f.want(t, map[string]string{
			"first": "1", "the same stamp": "1", "another stamp": "2", "the other stamp too": "2",
			"no stamp": "3", "no stamp either": "3", "a stamp before the next read": "3",
		})
		f.results = map[string]string{}
		f.read("later", 7, worked)
		f.want(t, map[string]string{"later": "4"})
	})
}

// TestReadsThatFail: those who share a read share its error, also if it panicked, and nobody else
// gets it.
func TestReadsThatFail(t *testing.T) {
	t.Parallel()
	for want, load := range map[string]func() error{
		errBroken.Error(): func() error { return errBroken }, "panic": func() error { panic("x") },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeReads(t)
			f.read("leads", 7, load)
			f.read("shares", 7, worked)
			shared := want
			if want == "panic" {
				shared = errNoResult.Error()
			}
			f.want(t, map[string]string{"leads": want, "shares": shared})
			f.read("later", 7, worked)
			f.want(t, map[string]string{"leads": want, "shares": shared, "later": "2"})
		})
	}
}

// TestReadsDoNotWaitLong: a read that hangs delays the next one by maxWait.
func TestReadsDoNotWaitLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, began := newFakeReads(t), time.Now()
		f.read("hangs", 0, func() error { time.Sleep(time.Hour); return nil })
		f.read("next", 0, func() error {
			assert.Equal(t, time.Since(began), maxWait+time.Second, "the next read ends after")
			return nil
		})
		f.want(t, map[string]string{"hangs": "1", "next": "2"})
	})
}

// simulatedCatalogue is a catalogue whose state is the number of its writes. Its stamps are as
// those of freshness.Memory.
type simulatedCatalogue struct {
	mu      sync.Mutex
	state   int
	stamp   freshness.Stamp
	writing int
	// least is the state that every list must have now: of each write that was acknowledged, and of
	// each list that was seen.
	least int
	// reads counts the reads.
	reads int
}

func (s *simulatedCatalogue) write(pause func(most int)) {
	step := func(do func()) {
		s.mu.Lock()
		do()
		s.mu.Unlock()
		pause(1000)
	}
	var state int
	step(func() { s.writing++; s.stamp++ })
	step(func() { s.state++; state = s.state })
	step(func() { s.writing-- })
	step(func() { s.least = max(s.least, state) })
}

func (s *simulatedCatalogue) decide() (stamp freshness.Stamp, least int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing > 0 {
		return 0, s.least
	}
	return s.stamp, s.least
}

func (s *simulatedCatalogue) read() (state int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.state
}

func (s *simulatedCatalogue) seen(state int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.least = max(s.least, state)
}

// list requests the page as the API does. It returns a complaint if the page is stale.
func (s *simulatedCatalogue) list(c *Cache, pause func(most int)) (complaint string) {
	stamp, least := s.decide()
	pause(500)
	key := Key{Tenant: 1}
	p := c.Get(key, stamp)
	if p == nil {
		p, _ = c.Read(key, stamp, func() (*Page, error) {
			pause(1000)
			p := &Page{Body: make([]byte, s.read())}
			pause(1000)
			return p, nil
		})
	}
	state := len(p.Body)
	if state < least {
		complaint = fmt.Sprintf("a list has state %d, and %d was known before it was requested", state, least)
	}
	pause(500)
	s.seen(state)
	return complaint
}

// TestSharedReadsAreNeverStale has writers and readers whose steps take random times. No list lacks
// a write that was acknowledged, or is older than a list that anybody has seen, before it was
// requested.
func TestSharedReadsAreNeverStale(t *testing.T) {
	t.Parallel()
	const writers, readers, rounds = 2, 10, 200
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			c := newCache(t)
			var s simulatedCatalogue
			var all sync.WaitGroup
			for i := range uint64(writers + readers) {
				rnd := rand.New(rand.NewPCG(seed, i))
				pause := func(most int) { time.Sleep(time.Duration(rnd.IntN(most))) }
				all.Go(func() {
					for range rounds {
						pause(4000)
						if i < writers {
							s.write(pause)
						} else if complaint := s.list(c, pause); complaint != "" {
							t.Errorf("seed %d: %s", seed, complaint)
						}
					}
				})
			}
			all.Wait()
			if s.reads == 0 || s.reads > readers*rounds/2 {
				t.Errorf("seed %d: %d reads for %d lists", seed, s.reads, readers*rounds)
			}
		})
	}
}
