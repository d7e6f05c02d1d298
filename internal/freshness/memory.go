package freshness

import (
	"context"
	"sync"
	"time"
)

// shards is the number of locks, so that tenants rarely wait for each other.
const shards = 64

// forgetEvery is how often tenants that do not write are forgotten.
const forgetEvery = 24 * time.Hour

// Memory gives stamps in one process, while that process is the only one that writes.
type Memory struct {
	sole   func() (term int64, since time.Time, sole bool)
	now    func() time.Time
	shards [shards]shard
}

var _ Invalidator = (*Memory)(nil)

type shard struct {
	mu sync.Mutex
	// sequence numbers the states of this shard's catalogues; unwritten is the number of those without an entry.
	sequence, unwritten int64
	forgotten           time.Time
	written             map[int64]*state
}

// state is that of a catalogue that was written to.
type state struct {
	number int64
	// writes counts the writes under way. intent is when the last abandoned one is over.
	writes int
	intent time.Time
}

// NewMemory returns a Memory. sole reports whether this process is the only server, the number of the term in which it
// is, 1 for the first ever, and since when: between two terms another server may have written, and its last write may still be under way. It
// is called for every request.
func NewMemory(sole func() (term int64, since time.Time, sole bool)) *Memory {
	return &Memory{sole: sole, now: time.Now}
}

// Stamp returns the current stamp of a tenant's catalogue, 0 while it is being written to or another server may write.
func (m *Memory) Stamp(tenantID int64) Stamp {
	term := m.soleTerm()
	if term == 0 {
		return 0
	}
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.unwritten
	if t, ok := s.written[tenantID]; ok {
		if t.isChanging(m.now) {
			return 0
		}
		number = t.number
	}
	return Stamp(term<<32 | number)
}

// soleTerm returns the term in which this process is the only server, 0 if it is not or if writes of others may still be under
// way. Before the first term there were no others.
func (m *Memory) soleTerm() int64 {
	term, since, sole := m.sole()
	if !sole || term > 1 && m.now().Sub(since) <= WriteIntentTTL {
		return 0
	}
	return term
}

// BeginWrite implements Invalidator. It never fails.
func (m *Memory) BeginWrite(_ context.Context, tenantID int64) (*Write, error) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(m.now)
	t, ok := s.written[tenantID]
	if !ok {
		t = &state{}
		s.written[tenantID] = t
	}
	s.sequence++
	t.number = s.sequence
	t.writes++
	return NewWrite(func(settled bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.writes--
		if !settled {
			t.intent = m.now().Add(WriteIntentTTL)
		}
		return nil
	}), nil
}

func (m *Memory) shard(tenantID int64) *shard { return &m.shards[uint64(tenantID)%shards] }

func (t *state) isChanging(now func() time.Time) bool {
	return t.writes > 0 || !t.intent.IsZero() && now().Before(t.intent)
}

// forget drops the entries of catalogues that are not being written to, once a day. All of them get a number that none had before.
func (s *shard) forget(now func() time.Time) {
	if s.written != nil && now().Sub(s.forgotten) < forgetEvery {
		return
	}
	changing := map[int64]*state{}
	for id, t := range s.written {
		if t.isChanging(now) {
			changing[id] = t
		}
	}
	s.sequence++
	s.unwritten, s.written, s.forgotten = s.sequence, changing, now()
}
