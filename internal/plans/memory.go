package plans

import (
	"context"
	"math"
	"sync"
	"time"
)

// shards is how many locks the counters are spread over, so that tenants rarely wait for one another.
const shards = 64

// Memory counts in this process: exact for one server, and the embedded default.
type Memory struct {
	shards [shards]shard
}

var _ Limiter = (*Memory)(nil)

type shard struct {
	mu       sync.Mutex
	day      int64
	counters map[int64]*counter
}

type counter struct {
	minute, minuteUsed int64
	day, dayUsed       int64
}

// NewMemory returns a limiter with empty counters.
func NewMemory() *Memory {
	m := &Memory{}
	for i := range m.shards {
		m.shards[i].counters = map[int64]*counter{}
	}
	return m
}

// Seed tells what the tenant had used of a day before this process began to count, so it is called once for a tenant.
// What this process has counted itself comes on top. A day that is over by now is none of its business.
func (m *Memory) Seed(tenantID, day, used int64) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(tenantID, math.MinInt64, day)
	if c.day == day {
		c.dayUsed += used
	}
}

// Take implements Limiter.
func (m *Memory) Take(_ context.Context, tenantID int64, q Quota, now time.Time) Decision {
	minute, day := minuteAt(tenantID, now), DayAt(now)
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(tenantID, minute, day)
	d := decide(tenantID, q, c.minute, c.minuteUsed, c.day, c.dayUsed)
	if d.Admitted {
		c.minuteUsed++
		c.dayUsed++
	}
	return d
}

// Refund implements Limiter.
func (m *Memory) Refund(_ context.Context, tenantID int64, d Decision) {
	if !d.Admitted {
		return
	}
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.counters[tenantID]
	if !ok {
		return
	}
	if c.minute == d.Minute.Number && c.minuteUsed > 0 {
		c.minuteUsed--
	}
	if c.day == d.Day.Number && c.dayUsed > 0 {
		c.dayUsed--
	}
}

func (m *Memory) shard(tenantID int64) *shard { return &m.shards[uint64(tenantID)%shards] }

// counter returns the tenant's counter, moved on to the windows of those numbers. It never moves back: a request
// whose clock was read just before an edge counts in the window that the edge opened.
func (s *shard) counter(tenantID, minute, day int64) *counter {
	if day > s.day {
		s.forgetBefore(day - 1)
		s.day = day
	}
	c, ok := s.counters[tenantID]
	if !ok {
		c = &counter{minute: minute, day: day}
		s.counters[tenantID] = c
	}
	if minute > c.minute {
		c.minute, c.minuteUsed = minute, 0
	}
	if day > c.day {
		c.day, c.dayUsed = day, 0
	}
	return c
}

// forgetBefore drops the counters of tenants that did not call since that day. It runs once a day.
func (s *shard) forgetBefore(day int64) {
	for id, c := range s.counters {
		if c.day < day {
			delete(s.counters, id)
		}
	}
}
