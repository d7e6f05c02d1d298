package limits

import (
	"context"
	"math"
	"sync"
	"time"

	"petstore.example/internal/freshness"
)

// shards is the number of locks, so that tenants rarely wait for each other.
const shards = 64

// Memory counts in this process. It is exact for one server.
type Memory struct {
	shards [shards]shard
	// stamps is nil for none.
	stamps *freshness.Memory
}

var _ Limiter = (*Memory)(nil)

type shard struct {
	mu         sync.Mutex
	day, month int64
	counters   map[int64]*counter
}

type counter struct {
	minute, minuteUsed int64
	day, dayUsed       int64
	month, monthUsed   int64
	// keys is how much of the minute each key with a limit of its own has used.
	keys map[string]int64
}

// MemoryOption is an option of NewMemory.
type MemoryOption func(*Memory)

// WithStamps makes decisions carry the stamp of the tenant's catalogue.
func WithStamps(stamps *freshness.Memory) MemoryOption {
	return func(m *Memory) { m.stamps = stamps }
}

// NewMemory returns a limiter with empty counters.
func NewMemory(options ...MemoryOption) *Memory {
	m := &Memory{}
	for i := range m.shards {
		m.shards[i].counters = map[int64]*counter{}
	}
	for _, option := range options {
		option(m)
	}
	return m
}

// Seed adds what the tenant had used of a day before this process began to count. It is called once
// for a tenant. It ignores a day that is over.
func (m *Memory) Seed(tenantID, day, used int64) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(tenantID, math.MinInt64, day, 0)
	if c.day == day {
		c.dayUsed += used
	}
}

// SeedMonth is Seed for a month.
func (m *Memory) SeedMonth(tenantID, month, used int64) {
	s := m.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(tenantID, math.MinInt64, math.MinInt64, month)
	if c.month == month {
		c.monthUsed += used
	}
}

// Take implements Limiter.
func (m *Memory) Take(_ context.Context, c Claim, now time.Time) Decision {
	return m.decide(&c, now, 1)
}

// Peek implements Limiter.
func (m *Memory) Peek(_ context.Context, c Claim, now time.Time) Decision {
	return m.decide(&c, now, 0)
}

// InForce implements Limiter.
func (m *Memory) InForce(*Decision) bool { return true }

func (m *Memory) decide(claim *Claim, now time.Time, count int64) Decision {
	minute, day, month := MinuteAt(claim.TenantID, now), DayAt(now), claim.MonthAt(now)
	s := m.shard(claim.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counter(claim.TenantID, minute, day, month)
	u := Used{Minute: c.minuteUsed, Day: c.dayUsed, Month: c.monthUsed}
	if claim.KeyPerMinute > 0 {
		u.Key = c.keys[claim.KeyID]
	}
	d := Decide(claim, c.minute, c.day, c.month, u, count)
	if d.Admitted {
		c.add(claim, count)
	}
	if m.stamps != nil {
		d.Stamp = m.stamps.Stamp(claim.TenantID)
	}
	return d
}

func (c *counter) add(claim *Claim, count int64) {
	c.minuteUsed += count
	c.dayUsed += count
	if claim.Counts(c.month) != 0 {
		c.monthUsed += count
	}
	if claim.KeyPerMinute == 0 {
		return
	}
	if c.keys == nil {
		c.keys = map[string]int64{}
	}
	c.keys[claim.KeyID] += count
}

// Refund implements Limiter.
func (m *Memory) Refund(_ context.Context, claim Claim, d Decision) {
	if !d.Admitted {
		return
	}
	s := m.shard(claim.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.counters[claim.TenantID]
	if !ok {
		return
	}
	if c.minute == d.Minute.Number && c.minuteUsed > 0 {
		c.minuteUsed--
	}
	if d.Key.Limit > 0 && c.minute == d.Key.Number && c.keys[claim.KeyID] > 0 {
		c.keys[claim.KeyID]--
	}
	if c.day == d.Day.Number && c.dayUsed > 0 {
		c.dayUsed--
	}
	if d.Month.Number == c.month && c.monthUsed > 0 {
		c.monthUsed--
	}
}

func (m *Memory) shard(tenantID int64) *shard { return &m.shards[uint64(tenantID)%shards] }

// counter returns the tenant's counter in these windows. It never moves back: a request that was
// timed just before the end of a window counts in the next one if that has begun.
func (s *shard) counter(tenantID, minute, day, month int64) *counter {
	s.month = max(s.month, month)
	if day > s.day {
		s.forgetBefore(day - 1)
		s.day = day
	}
	c, ok := s.counters[tenantID]
	if !ok {
		c = &counter{minute: minute, day: day, month: month}
		s.counters[tenantID] = c
	}
	if minute > c.minute {
		c.minute, c.minuteUsed = minute, 0
		clear(c.keys)
	}
	if day > c.day {
		c.day, c.dayUsed = day, 0
	}
	if month > c.month {
		c.month, c.monthUsed = month, 0
	}
	return c
}

// forgetBefore drops the counters of tenants that last called before that day, unless they count in
// the latest month. It runs once a day.
func (s *shard) forgetBefore(day int64) {
	for id, c := range s.counters {
		if c.day < day && (c.month < s.month || c.monthUsed == 0) {
			delete(s.counters, id)
		}
	}
}
