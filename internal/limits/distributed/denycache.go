package distributed

import (
	"sync/atomic"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// denialAge is how long a denial is repeated without asking while this server does not hear of
// refunds.
const denialAge = time.Second

// denial is why a claim was last refused. As long as nothing that it depends on changes, it would
// be refused again. The zero denial is valid for nothing.
type denial struct {
	// term is the one in which it was made. session is the subscription that would have announced a
	// refund to this server since before then, 0 for none.
	term, session int64
	quota         plans.Quota
	perKey        int64
	minute, day   int64
	used          limits.Used
	at            time.Time
	// partial is true if other servers may hold what remains.
	partial bool
}

// validFor returns what is used of the windows at now, and false if the denial is no longer valid.
func (f *denial) validFor(term, session int64, c *limits.Claim, minute, day int64, now time.Time) (limits.Used, bool) {
	if f.term != term || f.term == 0 || f.quota != c.Quota || f.perKey != c.KeyPerMinute || day > f.day {
		return limits.Used{}, false
	}
	if subscribed := session != 0 && f.session == session; !subscribed && now.Sub(f.at).Abs() >= denialAge {
		return limits.Used{}, false
	}
	if minute <= f.minute {
		return f.used, true
	}
	// A new minute is empty: nothing was admitted while the day is full.
	return limits.Used{Day: f.used.Day}, f.used.Day >= f.quota.PerDay
}

// denyCache repeats denials without asking until something that they depend on changes.
type denyCache struct {
	seen *seen
	// refunds counts what was given back anywhere. session numbers the subscription by which this
	// server hears of it, 0 for none.
	refunds, session atomic.Int64
}

var _ RefundListener = (*denyCache)(nil)

// Subscribed implements RefundListener.
func (f *denyCache) Subscribed(session int64) { f.session.Store(session) }

// Refunded implements RefundListener. It forgets the tenant's denials.
func (f *denyCache) Refunded(tenantID int64) {
	f.refunds.Add(1)
	s := f.seen.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[tenantID]
	if !ok {
		return
	}
	a.others.denial = denial{}
	for _, st := range a.keys {
		st.denial = denial{}
	}
}

// denied returns the decision of a claim that would certainly be denied again and what it was made
// from, and false if somebody has to be asked.
func (f *denyCache) denied(
	term, session int64,
	c *limits.Claim,
	minute, day int64,
	now time.Time,
) (d limits.Decision, ok bool) {
	s := f.seen.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[c.TenantID]
	if !ok {
		return d, false
	}
	st := &a.others
	if c.KeyPerMinute > 0 {
		if st, ok = a.keys[c.KeyID]; !ok {
			return d, false
		}
	}
	n := &st.denial
	u, ok := n.validFor(term, session, c, minute, day, now)
	if !ok {
		return d, false
	}
	minute = max(minute, n.minute)
	if a.saysLess(term, st, minute, n.day, u) {
		*n = denial{}
		return d, false
	}
	u = a.atLeast(term, st, minute, n.day, u)
	if minute == n.minute {
		n.used = u
	}
	d = limits.Decide(c, minute, n.day, u, 1)
	d.Term = term
	d.Partial = n.partial
	if a.reported.term == term && !d.Admitted {
		a.report(term, st, &d)
	}
	return d, !d.Admitted
}

// saysLess reports whether the last reply said that less is used than u, what a denial was for:
// somebody gave a request back, and this server has not heard of it. An earlier reply that was
// overtaken says so too, and costs a round trip.
func (a *tenantState) saysLess(term int64, st *claimState, minute, day int64, u limits.Used) bool {
	return a.term == term && a.latest.Minute == minute && a.latest.MinuteUsed < u.Minute ||
		a.term == term && a.latest.Day == day && a.latest.DayUsed < u.Day ||
		st.term == term && st.minute == minute && st.used < u.Key
}

// atLeast raises u to what the tenant's other requests used meanwhile. It is never less than what
// the denial was for: a reply that was overtaken would admit.
func (a *tenantState) atLeast(term int64, st *claimState, minute, day int64, u limits.Used) limits.Used {
	if a.term == term && a.latest.Minute == minute {
		u.Minute = max(u.Minute, a.latest.MinuteUsed)
	}
	if a.term == term && a.latest.Day == day {
		u.Day = max(u.Day, a.latest.DayUsed)
	}
	if st.term == term && st.minute == minute {
		u.Key = max(u.Key, st.used)
	}
	return u
}
