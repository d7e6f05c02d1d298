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
	// sequence is the latest number of a state of this shard's catalogues. unwritten is the number
	// that all catalogues without an entry have.
	sequence, unwritten int64
	forgotten           time.Time
	written             map[int64]*state
}

// state is the state of a catalogue that was written to: the state of all of it, and of the animals
// that existed before others were added.
type state struct{ all, existing writes }

type writes struct {
	number int64
	// underWay counts the writes under way. intent is when the intent of the last abandoned write
	// ends.
	underWay int
	intent   time.Time
}

// NewMemory returns a Memory. sole returns the term in which this process is the only server (1 for
// the first ever), its beginning, and whether there is one. Between two terms another server may
// have written, and its last write may still be under way. sole is called for every request.
func NewMemory(sole func() (term int64, since time.Time, sole bool)) *Memory {
	return &Memory{sole: sole, now: time.Now}
}

// Stamp returns the current stamp of a tenant's catalogue, 0 while it is being written to or
// another server may write.
func (m *Memory) Stamp(tenantID int64) Stamp {
	current, _ := m.Stamps(tenantID)
	return current
}

// Stamps returns the current stamp of the catalogue, and the stamp of its existing animals, which
// stays the same while animals are only added.
func (m *Memory) Stamps(tenantID int64) (current, existing Stamp) {
	term := m.soleTerm()
	if term == 0 {
		return 0, 0
	}
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := state{writes{number: s.unwritten}, writes{number: s.unwritten}}
	if written, ok := s.written[tenantID]; ok {
		t = *written
	}
	return t.all.stamp(term, m.now), t.existing.stamp(term, m.now)
}

func (w *writes) stamp(term int64, now func() time.Time) Stamp {
	if w.changing(now) {
		return 0
	}
	return Stamp(term<<32 | w.number)
}

// soleTerm returns the term in which this process is the only server. It is 0 if there is none, or
// if writes of others may still be under way. Before the first term there were no others.
func (m *Memory) soleTerm() int64 {
	term, since, sole := m.sole()
	if !sole || term > 1 && m.now().Sub(since) <= WriteIntentTTL {
		return 0
	}
	return term
}

// BeginWrite implements Invalidator. It never fails.
func (m *Memory) BeginWrite(_ context.Context, tenantID int64, k Kind) (*Write, error) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(m.now)
	t, ok := s.written[tenantID]
	if !ok {
		t = &state{existing: writes{number: s.unwritten}}
		s.written[tenantID] = t
	}
	s.sequence++
	t.begin(k, s.sequence)
	return NewWrite(func(settled bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.end(k, settled, m.now)
		return nil
	}), nil
}

// of returns the parts of the state that a write of the kind changes.
func (t *state) of(k Kind) []*writes {
	if k == Adds {
		return []*writes{&t.all}
	}
	return []*writes{&t.all, &t.existing}
}

func (t *state) begin(k Kind, number int64) {
	for _, w := range t.of(k) {
		w.number = number
		w.underWay++
	}
}

func (t *state) end(k Kind, settled bool, now func() time.Time) {
	for _, w := range t.of(k) {
		w.underWay--
		if !settled {
			w.intent = now().Add(WriteIntentTTL)
		}
	}
}

func (m *Memory) shard(tenantID int64) *shard { return &m.shards[uint64(tenantID)%shards] }

func (w *writes) changing(now func() time.Time) bool {
	return w.underWay > 0 || !w.intent.IsZero() && now().Before(w.intent)
}

// forget drops the entries of catalogues that are not being written to, once a day. All catalogues
// without an entry then share a new number.
func (s *shard) forget(now func() time.Time) {
	if s.written != nil && now().Sub(s.forgotten) < forgetEvery {
		return
	}
	changing := map[int64]*state{}
	for id, t := range s.written {
		if t.all.changing(now) {
			changing[id] = t
		}
	}
	s.sequence++
	s.unwritten, s.written, s.forgotten = s.sequence, changing, now()
}
