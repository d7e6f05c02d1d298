package distributed

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// batches collects requests during a round trip and sends them in the next: one Request for each
// claim, all in one call. A lone request goes at once, without another goroutine.
type batches struct {
	// run makes the round trip. It returns the term in which the replies count, 0 for none.
	run func(requests []Request, now time.Time) (term int64)

	mu sync.Mutex
	// running is true from the moment a batch may begin its round trip until its replies are there.
	running bool
	// shared is true if the last batch had several requests.
	shared bool
	// next is the batch that requests join; nil for none.
	next *batch
}

// batch is one round trip. The first request to join leads it.
type batch struct {
	requests []Request
	// last maps a bucket of tenants to 1 + the index of its last Request. Its earlier Requests are
	// linked by Request.previous.
	last [buckets]int32
	now  time.Time
	// turn receives when the leader may begin. complete is closed when the replies are there; it is
	// nil if nobody waits for them.
	turn     chan struct{}
	complete chan struct{}
	// term is the term in which the replies count, 0 for none.
	term int64
	// refs is the number of requests that have not read their reply yet.
	refs atomic.Int32
}

// buckets is the typical number of tenants in a batch, and the size of batch.last.
const buckets = 64

// batchPool holds used batches: allocating their Requests would double what a request allocates.
var batchPool = sync.Pool{New: func() any { return &batch{turn: make(chan struct{}, 1)} }}

// do sets the reply of a request. It returns the term in which the reply counts, 0 for none, and
// the number of requests of the same claim before it.
func (s *batches) do(r *Request, now time.Time) (term, position int64) {
	s.mu.Lock()
	b, leads := s.gathering(now)
	at, position := b.join(r)
	queues, yields := s.running, s.shared
	s.running = true
	s.mu.Unlock()
	switch {
	case !leads:
		<-b.complete
	case queues:
		<-b.turn
	}
	if leads {
		s.lead(b, yields)
	}
	r.Reply = b.requests[at].Reply
	r.Count = b.requests[at].Count
	if r.Writes > 0 {
		r.intent = b.requests[at].intent
	}
	term = b.term
	b.release()
	return term, position
}

// gathering returns the batch to join. leads is true if it is new and the caller must lead it. It
// is called with mu held.
func (s *batches) gathering(now time.Time) (b *batch, leads bool) {
	if b = s.next; b == nil {
		b = batchPool.Get().(*batch)
		b.now = now
		s.next = b
		return b, true
	}
	if b.complete == nil {
		b.complete = make(chan struct{})
	}
	return b, false
}

// lead makes the round trip. If yields is set, goroutines that can run join first: under load this
// makes batches 1.5 times as large. A lone request does not yield: that would wake another
// processor to look for work, at a quarter of the cost of such a request.
func (s *batches) lead(b *batch, yields bool) {
	if yields {
		runtime.Gosched()
	}
	s.seal()
	defer s.finish(b) // This also runs after a panic: nobody must wait for ever.
	b.term = s.run(b.requests, b.now)
}

// seal closes the batch that gathers, so that nobody else joins it.
func (s *batches) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}

// finish starts the next batch, and wakes the requests that wait for this one.
func (s *batches) finish(b *batch) {
	s.mu.Lock()
	next := s.next
	s.running, s.shared = next != nil, b.refs.Load() > 1
	s.mu.Unlock()
	if next != nil {
		next.turn <- struct{}{}
	}
	if b.complete != nil {
		close(b.complete)
	}
}

// join adds a request to the Request of its claim and windows.
func (b *batch) join(r *Request) (at int32, position int64) {
	b.refs.Add(1)
	last := &b.last[uint64(r.Claim.TenantID)%buckets]
	r.SameTenant = false
	for i := *last; i > 0; i = b.requests[i-1].previous {
		of := &b.requests[i-1]
		if of.Claim.TenantID != r.Claim.TenantID {
			continue
		}
		if of.Minute == r.Minute && of.Day == r.Day && of.Month == r.Month && of.Claim == r.Claim {
			position = of.Count
			of.Count += r.Count
			of.Writes += r.Writes
			return i - 1, position
		}
		r.SameTenant = true
	}
	r.previous = *last
	b.requests = append(b.requests, *r)
	*last = int32(len(b.requests))
	return *last - 1, 0
}

// release says that one request has read its reply, and must not look at the batch again. The last
// one returns the batch to the pool.
func (b *batch) release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	b.empty()
	batchPool.Put(b)
}

func (b *batch) empty() {
	clear(b.requests)
	b.requests, b.last, b.complete, b.term = b.requests[:0], [buckets]int32{}, nil, 0
}
