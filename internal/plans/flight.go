package plans

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// flights let calls that come while one is under way go together with the next: requests of one claim as one ask, all asks in one
// round trip. One call on a quiet server goes at once, by itself, without any other goroutine.
type flights struct {
	mu sync.Mutex
	// flying is true from when a flight has the turn until its answers are there.
	flying bool
	// busy is true when the last flight had several requests aboard.
	busy bool
	// next is the flight that gathers; nil for none.
	next *flight
}

// flight is one round trip. Who comes first leads it.
type flight struct {
	asks []ask
	// last has for each bucket of tenants 1 + the index of its last ask, from which before leads to the others.
	last [buckets]int32
	now  time.Time
	// turn is sent to when the leader may begin, landed closed when the answers are there; nil when nobody waits for that.
	turn   chan struct{}
	landed chan struct{}
	// term is the one in which the answers count, 0 for none.
	term int64
	// aboard counts who has yet to read an answer.
	aboard atomic.Int32
}

// buckets is as many as tenants often are in a flight.
const buckets = 64

// hangar has flights that are over: their asks would be half of what a request allocates.
var hangar = sync.Pool{New: func() any { return &flight{turn: make(chan struct{}, 1)} }}

// fly has a request answered in k, and returns the term in which the answer counts, 0 for none, and how many of the same ask
// came before it.
func (r *Redis) fly(k *ask, now time.Time) (term, position int64) {
	s := &r.flights
	s.mu.Lock()
	f, leads := s.gathering(now)
	at, position := f.join(k)
	queues, yields := s.flying, s.busy
	s.flying = true
	s.mu.Unlock()
	switch {
	case !leads:
		<-f.landed
	case queues:
		<-f.turn
	}
	if leads {
		r.lead(f, yields)
	}
	k.answer = f.asks[at].answer
	k.count = f.asks[at].count
	term = f.term
	f.leave()
	return term, position
}

// gathering returns the flight to join, and whether that is a new one, to lead. It is called with mu held.
func (s *flights) gathering(now time.Time) (f *flight, leads bool) {
	if f = s.next; f == nil {
		f = hangar.Get().(*flight)
		f.now = now
		s.next = f
		return f, true
	}
	if f.landed == nil {
		f.landed = make(chan struct{})
	}
	return f, false
}

// lead makes the round trip. Where a flight yields, who can run already comes along: under load that makes flights a half larger. To a
// lone request it would do nothing but wake another processor to look for work, which is a quarter of what such a request takes.
func (r *Redis) lead(f *flight, yields bool) {
	if yields {
		runtime.Gosched()
	}
	r.flights.depart()
	defer r.land(f) // Also after a panic: nobody must wait for ever.
	f.term = r.ask(f.asks, f.now)
}

// depart lets nobody join the flight that gathers any more.
func (s *flights) depart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}

// land gives the turn to the next flight, and wakes who came along with this one.
func (r *Redis) land(f *flight) {
	s := &r.flights
	s.mu.Lock()
	next := s.next
	s.flying, s.busy = next != nil, f.aboard.Load() > 1
	s.mu.Unlock()
	if next != nil {
		next.turn <- struct{}{}
	}
	if f.landed != nil {
		close(f.landed)
	}
}

// join adds a request to the ask of its claim and windows.
func (f *flight) join(k *ask) (at int32, position int64) {
	f.aboard.Add(1)
	last := &f.last[uint64(k.claim.TenantID)%buckets]
	k.again = false
	for i := *last; i > 0; i = f.asks[i-1].before {
		of := &f.asks[i-1]
		if of.claim.TenantID != k.claim.TenantID {
			continue
		}
		if of.minute == k.minute && of.day == k.day && of.claim == k.claim {
			position = of.count
			of.count += k.count
			return i - 1, position
		}
		k.again = true
	}
	k.before = *last
	f.asks = append(f.asks, *k)
	*last = int32(len(f.asks))
	return *last - 1, 0
}

// leave is the end of it for one request, after which it must not look at the flight. The last one keeps it for others.
func (f *flight) leave() {
	if f.aboard.Add(-1) > 0 {
		return
	}
	clear(f.asks)
	f.asks, f.last, f.landed, f.term = f.asks[:0], [buckets]int32{}, nil, 0
	hangar.Put(f)
}
