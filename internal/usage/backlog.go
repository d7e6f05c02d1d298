package usage

import (
	"sync/atomic"
	"time"
)

// Backlog is the requests that are counted but not recorded yet.
type Backlog struct {
	// Requests is the number of requests, including refused ones.
	Requests int64
	// Age is an upper bound of the time since the first of them was counted; 0 if there are none.
	Age time.Duration
}

// progress is what a Meter has recorded since its start.
type progress struct {
	// admitted and refused are the numbers of recorded requests. moved is the number of requests in
	// unrecorded batches.
	admitted, refused, moved atomic.Int64
	// complete is when everything counted by then was recorded.
	complete atomic.Pointer[time.Time]
}

// Recorded returns the numbers of requests recorded since the start.
func (p *progress) Recorded() (admitted, refused int64) { return p.admitted.Load(), p.refused.Load() }

// begun counts the requests in batches that are about to be written.
func (p *progress) begun(batches []Batch) {
	for i := range batches {
		p.moved.Add(batches[i].size())
	}
}

func (p *progress) wrote(b *Batch) {
	for _, c := range b.Counts {
		p.admitted.Add(max(0, c.Admitted))
		p.refused.Add(c.Refused)
	}
	p.moved.Add(-b.size())
}

// size is the number of requests in the batch. A refund counts as a request, because it must be
// recorded too.
func (b *Batch) size() (n int64) {
	for _, c := range b.Counts {
		n += max(c.Admitted, -c.Admitted) + c.Refused
	}
	return n
}

// Backlog returns the unrecorded requests. It does not wait for a write.
func (m *Meter) Backlog() Backlog {
	n := m.Progress.moved.Load()
	for i := range m.shards {
		n += m.shards[i].size()
	}
	complete := m.Progress.complete.Load()
	if n == 0 || complete == nil {
		return Backlog{Requests: n}
	}
	return Backlog{Requests: n, Age: time.Since(*complete)}
}

func (s *shard) size() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.counters {
		n += max(c.admitted, -c.admitted) + c.refused
	}
	return n
}
