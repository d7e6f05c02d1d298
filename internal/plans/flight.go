package plans

import (
	"runtime"
	"sync"
	"time"
)

// flights let calls that come while one is under way go together with the next: requests of one claim as one ask, all asks in one
// round trip. One call on a quiet server goes at once, by itself, without any other goroutine.
type flights struct {
	mu sync.Mutex
	// flying is true from when a flight has the turn until its answers are there.
	flying bool
	// next is the flight that gathers; nil for none.
	next *flight
}

// flight is one round trip. Who comes first leads it.
type flight struct {
	asks []ask
	now  time.Time
	// turn is sent to when the leader may begin, landed closed when the answers are there. nil when nobody waits for it.
	turn   chan struct{}
	landed chan struct{}
	// term is the one in which the answers count, 0 for none.
	term int64

	space [1]ask
}

// fly has a request answered in k, and returns the term in which the answer counts, 0 for none, and how many of the same ask
// came before it.
func (r *Redis) fly(k *ask, now time.Time) (term, position int64) {
	s := &r.flights
	s.mu.Lock()
	f := s.next
	leads := f == nil
	if leads {
		f = &flight{now: now}
		f.asks = f.space[:0]
		s.next = f
	}
	at, position := f.join(k)
	switch {
	case !leads:
		if f.landed == nil {
			f.landed = make(chan struct{})
		}
		landed := f.landed
		s.mu.Unlock()
		<-landed
	case s.flying:
		f.turn = make(chan struct{}, 1)
		s.mu.Unlock()
		<-f.turn
		r.lead(f)
	default:
		s.flying = true
		s.mu.Unlock()
		r.lead(f)
	}
	k.answer = f.asks[at].answer
	k.count = f.asks[at].count
	return f.term, position
}

// lead makes the round trip. Before it leaves, whoever can run already comes along: on a busy server that makes flights a half larger, on
// a quiet one it takes no time.
func (r *Redis) lead(f *flight) {
	runtime.Gosched()
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
	s.flying = next != nil
	s.mu.Unlock()
	if next != nil {
		next.turn <- struct{}{}
	}
	if f.landed != nil {
		close(f.landed)
	}
}

// join adds a request to the ask of its claim and windows.
func (f *flight) join(k *ask) (at int, position int64) {
	k.again = false
	for i := range f.asks {
		of := &f.asks[i]
		if of.minute == k.minute && of.day == k.day && of.claim == k.claim {
			position = of.count
			of.count += k.count
			return i, position
		}
		k.again = k.again || of.claim.TenantID == k.claim.TenantID
	}
	f.asks = append(f.asks, *k)
	return len(f.asks) - 1, 0
}
