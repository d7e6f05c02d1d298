package pagecache

import (
	"errors"
	"sync"
	"time"

	"petstore.example/internal/freshness"
)

// maxWait is how long a read of a page waits for the one before it. It is longer than a read takes
// unless Postgres stands still.
const maxWait = 100 * time.Millisecond

// Reads lets requests for the same page, or for what else has a key, share a read.
//
// A request with a stamp may share a read that began after a decision with the same stamp, as it
// may have a cached page. Any request may share a read that begins after their own decision. So a
// request without a stamp, because its catalogue is being written to, shares the next read: that
// begins when the one before it ends. It is safe for concurrent use.
type Reads[K comparable, V any] struct {
	// Wait is how long a read waits for the one before it.
	Wait time.Duration

	mu sync.Mutex
	// newest is the read of each key that began last, or will begin.
	newest map[K]*read[V]
}

// read is one read.
type read[V any] struct {
	// begun says that it has begun, or does at once. Then its stamp does not change. Both are
	// guarded by Reads.mu.
	begun bool
	stamp freshness.Stamp
	// done is closed when it has ended, with the value or the error.
	done  chan struct{}
	value V
	err   error
}

// errNoResult is the error of a read that panicked, for those who shared it.
var errNoResult = errors.New("the read ended without a result")

// Do returns what load reads, now or for another request at the same time, after the decision with
// the stamp; shared says which. load gets the stamp under which the value may be cached. It must
// not end because the client disconnects: others may wait for it.
func (s *Reads[K, V]) Do(
	key K,
	stamp freshness.Stamp,
	load func(freshness.Stamp) (V, error),
) (v V, shared bool, err error) {
	r, before, leads := s.join(key, stamp)
	if !leads {
		<-r.done
		return r.value, true, r.err
	}
	stamp = s.begin(r, before)
	defer s.end(key, r)
	r.value, r.err = load(stamp)
	return r.value, false, r.err
}

// join returns the read that a request with the stamp shares, or is to make: then leads is true.
// before is the read to wait for first, nil for none.
func (s *Reads[K, V]) join(key K, stamp freshness.Stamp) (r, before *read[V], leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest[key]
	switch {
	case newest != nil && !newest.begun:
		if stamp != 0 {
			// It is current for each stamp of a decision before it. The last one is the most
			// useful.
			newest.stamp = stamp
		}
		return newest, nil, false
	case newest != nil && stamp != 0 && newest.stamp == stamp:
		return newest, nil, false
	}
	r = &read[V]{begun: newest == nil || stamp != 0, stamp: stamp, done: make(chan struct{}), err: errNoResult}
	if !r.begun {
		before = newest
	}
	if s.newest == nil {
		s.newest = map[K]*read[V]{}
	}
	s.newest[key] = r
	return r, before, true
}

// begin waits for the read before, and begins. It returns the stamp under which the value may be
// cached.
func (s *Reads[K, V]) begin(r, before *read[V]) freshness.Stamp {
	if before != nil {
		select {
		case <-before.done:
		case <-time.After(s.Wait):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.begun = true
	return r.stamp
}

func (s *Reads[K, V]) end(key K, r *read[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest[key] == r {
		delete(s.newest, key)
	}
	close(r.done)
}

// Read returns a page that load reads, as Reads.Do does. It caches a page that it loads.
func (c *Cache) Read(key Key, stamp freshness.Stamp, load func() (*Page, error)) (*Page, error) {
	if c == nil {
		return load()
	}
	p, shared, err := c.reads.Do(key, stamp, func(stamp freshness.Stamp) (*Page, error) {
		p, err := load()
		if err == nil {
			// Before the end: until then others find the read, and from then on the page.
			c.Put(key, stamp, p)
		}
		return p, err
	})
	if shared {
		c.shared.Inc()
	}
	return p, err
}
