package pagecache

import (
	"errors"
	"sync"
	"time"

	"petstore.example/internal/freshness"
)

// maxWait is how long a read of a page waits for the one before. A read takes longer only if
// Postgres stands still.
const maxWait = 100 * time.Millisecond

// Reads lets requests for the same page, or for another value with a key, share a read.
//
// A request with a stamp may share a read that began after a decision with the same stamp, as it
// may use a cached page. Any request may share a read that begins after its own decision. A request
// has no stamp while its catalogue is being written to. It then shares the next read, which begins
// when the current one ends. Reads is safe for concurrent use.
type Reads[K comparable, V any] struct {
	// Wait is how long a read waits for the one before.
	Wait time.Duration

	mu sync.Mutex
	// newest has for each key the last read: it has begun, or will begin next.
	newest map[K]*read[V]
}

// read is one read.
type read[V any] struct {
	// begun is true if the read has begun, or will at once. Then its stamp no longer changes.
	// Reads.mu guards both.
	begun bool
	stamp freshness.Stamp
	// done is closed when the read has ended, with a value or an error.
	done  chan struct{}
	value V
	err   error
}

// errNoResult is the error of a read that panicked, for the requests that shared it.
var errNoResult = errors.New("the read ended without a result")

// Do returns the result of load after the decision with the stamp. load runs now; if shared is
// true, it ran for another request at the same time. load gets the stamp under which the value may
// be cached. It must not end because the client disconnects: others may be waiting for it.
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

// join returns the read of a request with the stamp. If leads is true, the request must make the
// read, otherwise it shares it. before is the read to wait for first, nil for none.
func (s *Reads[K, V]) join(key K, stamp freshness.Stamp) (r, before *read[V], leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest[key]
	switch {
	case newest != nil && !newest.begun:
		if stamp != 0 {
			// The read is current for every stamp given out so far. The newest stamp is valid
			// longest.
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

// begin waits for the read before, and begins this one. It returns the stamp under which the value
// may be cached.
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

// Read returns a page that load reads, shared as by Reads.Do, and caches it.
func (c *Cache) Read(key Key, stamp freshness.Stamp, load func() (*Page, error)) (*Page, error) {
	if c == nil {
		return load()
	}
	p, shared, err := c.reads.Do(key, stamp, func(stamp freshness.Stamp) (*Page, error) {
		p, err := load()
		if err == nil {
			// The page is stored before the read ends, so that every request finds one of the two.
			c.Put(key, stamp, p)
		}
		return p, err
	})
	if shared {
		c.shared.Inc()
	}
	return p, err
}
