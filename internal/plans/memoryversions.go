package plans

import (
	"context"
	"math"
	"sync"
	"time"
)

// aloneSince is when this process was first seen to be alone in a term.
type aloneSince struct {
	term int64
	at   time.Time
}

// isAlone returns the term in which this process is alone, 0 when it is not or when others' last changes may still be under way.
// Before the first term there were no others.
func (m *Memory) isAlone() (term int64) {
	if m.alone == nil {
		return 0
	}
	term, alone := m.alone()
	if !alone {
		return 0
	}
	since := m.since.Load()
	if since == nil || since.term != term {
		since = &aloneSince{term: term, at: time.Now()}
		m.since.Store(since)
	}
	if term > 1 && time.Since(since.at) <= ChangeLasts {
		return 0
	}
	return term
}

// version returns that of the catalogue whose tenant has this counter, 0 while it changes or others may change it.
func (m *Memory) version(c *counter) int64 {
	term := m.isAlone()
	if term == 0 || c.changes > 0 || !c.unsettled.IsZero() && time.Now().Before(c.unsettled) {
		return 0
	}
	if c.version == 0 || c.term != term {
		c.version, c.term = m.versions.Add(1), term
	}
	return c.version
}

// Change implements Versions. It never fails.
func (m *Memory) Change(_ context.Context, tenantID int64) (done func(settled bool), err error) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(tenantID, math.MinInt64, math.MinInt64)
	c.changes++
	c.version = 0
	var once sync.Once
	return func(settled bool) {
		once.Do(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			c.changes--
			if !settled {
				c.unsettled = time.Now().Add(ChangeLasts)
			}
		})
	}, nil
}
