package pagecache

import (
	"errors"
	"sync"
	"time"

	"petstore.example/internal/freshness"
)

// maxWait is how long a read waits for the one before it. It is longer than a read takes unless Postgres stands still.
const maxWait = 100 * time.Millisecond

// reads lets requests for the same page share a read.
//
// A request with a stamp may share a read that began after a decision with the same stamp, as it may have a cached page. Any request may share a
// read that begins after their own decision. So a request without a stamp, because its catalogue is being written to, shares the next
// read: that begins when the one before it ends. It is safe for concurrent use.
type reads struct {
	mu sync.Mutex
	// newest is the read of each page that began last, or will begin.
	newest map[Key]*read
}

// read is one read of a page.
type read struct {
	// begun says that it has begun, or does at once. Then its stamp does not change. Both are guarded by reads.mu.
	begun bool
	stamp freshness.Stamp
	// done is closed when it has ended, with the page or the error.
	done chan struct{}
	page *Page
	err  error
}

// errNoResult is the error of a read that panicked, for those who shared it.
var errNoResult = errors.New("the read of a page ended without a result")

// join returns the read that a request with the stamp shares, or is to make: then leads is true. before is the read to wait for first,
// nil for none.
func (s *reads) join(key Key, stamp freshness.Stamp) (r, before *read, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest[key]
	switch {
	case newest != nil && !newest.begun:
		if stamp != 0 {
			// The page is current for each stamp of a decision before it. The last one is the most useful.
			newest.stamp = stamp
		}
		return newest, nil, false
	case newest != nil && stamp != 0 && newest.stamp == stamp:
		return newest, nil, false
	}
	r = &read{begun: newest == nil || stamp != 0, stamp: stamp, done: make(chan struct{}), err: errNoResult}
	if !r.begun {
		before = newest
	}
	s.newest[key] = r
	return r, before, true
}

// begin waits for the read before, and begins. It returns the stamp under which the page may be cached.
func (s *reads) begin(r, before *read) freshness.Stamp {
	if before != nil {
		timeout := time.NewTimer(maxWait)
		defer timeout.Stop()
		select {
		case <-before.done:
		case <-timeout.C:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.begun = true
	return r.stamp
}

func (s *reads) end(key Key, r *read) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest[key] == r {
		delete(s.newest, key)
	}
	close(r.done)
}

// Read returns a page that load reads, now or for another request at the same time, after the decision with the stamp. It caches a page
// that it loads. load must not end because the client disconnects: others may wait for the page.
func (c *Cache) Read(key Key, stamp freshness.Stamp, load func() (*Page, error)) (*Page, error) {
	if c == nil {
		return load()
	}
	r, before, leads := c.reads.join(key, stamp)
	if !leads {
		<-r.done
		c.shared.Inc()
		return r.page, r.err
	}
	stamp = c.reads.begin(r, before)
	defer c.reads.end(key, r)
	r.page, r.err = load()
	if r.err == nil {
		// Before the end: until then others find the read, and from then on the page.
		c.Put(key, stamp, r.page)
	}
	return r.page, r.err
}
