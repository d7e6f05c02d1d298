package distributed

import (
	"time"

	"petstore.example/internal/limits"
)

const DenialAge = denialAge

// Session returns the number of the subscription by which the limiter hears of refunds.
func (l *Limiter) Session() int64 { return l.denials.session.Load() }

// RefundsHeard returns how many refunds the limiter has heard of.
func (l *Limiter) RefundsHeard() int64 { return l.denials.refunds.Load() }

// Gathered returns how many requests wait for the next batch.
func (l *Limiter) Gathered() (n int64) {
	s := &l.redis.batches
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		return 0
	}
	for i := range s.next.requests {
		n += s.next.requests[i].Count
	}
	return n
}

// WaitsForGrant reports whether a request would wait for a grant that is under way.
func (l *Limiter) WaitsForGrant(c limits.Claim, now time.Time) bool {
	t, _ := l.options.Cluster.Term()
	_, call, r, err := l.grants.spend(
		&t,
		&c,
		limits.MinuteAt(c.TenantID, now),
		limits.DayAt(now),
		c.MonthAt(now),
		now,
		1,
	)
	return call != nil && r == nil && err == nil
}
