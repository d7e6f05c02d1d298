package plans

import (
	"context"
	"math"
	"sync"
	"time"
)

// version returns that of the catalogue whose tenant has this counter, 0 while it changes or others may change it.
func (m *Memory) version(c *counter, now time.Time) int64 {
	if m.alone == nil {
		return 0
	}
	term, alone := m.alone(now)
	if !alone || c.changes > 0 || !c.unsettled.IsZero() && time.Now().Before(c.unsettled) {
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
