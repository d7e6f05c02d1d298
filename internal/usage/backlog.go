package usage

import (
	"sync/atomic"
	"time"
)

// Backlog is what was counted and is not recorded yet.
type Backlog struct {
	// Requests is how many requests there are, refused ones included.
	Requests int64
	// Age is how long ago the first of them may have come; 0 if there are none.
	Age time.Duration
}

// progress is what a Meter has recorded since its start.
type progress struct {
	// admitted, refused are the requests that were recorded, moved those in batches that are not.
	admitted, refused, moved atomic.Int64
	// complete is when all that had been counted was recorded.
	complete atomic.Pointer[time.Time]
}

// Recorded returns how many requests were recorded since the start.
func (p *progress) Recorded() (admitted, refused int64) { return p.admitted.Load(), p.refused.Load() }

// begun says that a write of all that was counted before now begins.
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

// size is the number of requests in the batch. A refund counts like a request: it is to be recorded
// too.
func (b *Batch) size() (n int64) {
	for _, c := range b.Counts {
		n += max(c.Admitted, -c.Admitted) + c.Refused
	}
	return n
}

// Backlog returns what is not recorded. It does not wait for a write.
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
