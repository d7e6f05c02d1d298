package distributed

import (
	"sync/atomic"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// denialAge is how long a denial is repeated without asking while this server cannot hear of
// refunds.
const denialAge = time.Second

// denial is why a claim was last refused. The claim would be refused again as long as nothing that
// the denial depends on changes. The zero denial is never valid.
type denial struct {
	// term is the term in which it was made. session is the subscription by which this server has
	// heard of all refunds since then, 0 for none.
	term, session int64
	quota         plans.Quota
	perKey        int64
	// The windows are the tenant's, also if the claim does not count in the month.
	minute, day, month int64
	used               limits.Used
	at                 time.Time
	// partial is true if other servers may hold what remains.
	partial bool
}

// validFor returns what is used of the windows at now. It returns false if the denial is no longer
// valid.
func (f *denial) validFor(
	term, session int64,
	c *limits.Claim,
	minute, day, month int64,
	now time.Time,
) (limits.Used, bool) {
	if f.term != term || f.term == 0 || f.quota != c.Quota || f.perKey != c.KeyPerMinute || month > f.month {
		return limits.Used{}, false
	}
	if subscribed := session != 0 && f.session == session; !subscribed && now.Sub(f.at).Abs() >= denialAge {
		return limits.Used{}, false
	}
	if minute <= f.minute && day <= f.day {
		return f.used, true
	}
	// A new minute is empty, and so is a new day: while a longer window is full, nothing is admitted.
	u := limits.Used{Month: f.used.Month}
	if day <= f.day {
		u.Day = f.used.Day
	}
	return u, u.Fits(c, 1) == 0
}

// denyCache repeats denials without asking until something that they depend on changes.
type denyCache struct {
	seen *seen
	// refunds counts the refunds of all servers. session is the number of the subscription that
	// reports them, 0 for none.
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

// denied returns the decision of a claim that would certainly be denied again. It returns false if
// the request must be counted.
func (f *denyCache) denied(
	term, session int64,
	c *limits.Claim,
	minute, day, month int64,
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
	u, ok := n.validFor(term, session, c, minute, day, month, now)
	if !ok {
		return d, false
	}
	minute, day = max(minute, n.minute), max(day, n.day)
	if a.saysLess(term, st, minute, day, n.month, u) {
		*n = denial{}
		return d, false
	}
	u = a.atLeast(term, st, minute, day, n.month, u)
	if minute == n.minute && day == n.day {
		n.used = u
	}
	d = limits.Decide(c, minute, day, n.month, u, 1)
	d.Term = term
	d.Partial = n.partial
	if a.reported.term == term && !d.Admitted {
		a.report(term, st, &d)
	}
	return d, !d.Admitted
}

// saysLess reports whether the use in the last reply is lower than u, the use at the denial. Then
// another server gave a request back, and this server has not heard of it. An earlier reply that
// was overtaken looks the same; mistaking it costs a round trip.
func (a *tenantState) saysLess(term int64, st *claimState, minute, day, month int64, u limits.Used) bool {
	return a.term == term && a.latest.Minute == minute && a.latest.MinuteUsed < u.Minute ||
		a.term == term && a.latest.Day == day && a.latest.DayUsed < u.Day ||
		a.term == term && a.latest.Month == month && a.latest.MonthUsed < u.Month ||
		st.term == term && st.minute == minute && st.used < u.Key
}

// atLeast raises u to what the tenant's other requests have used since. It never lowers u, the use
// at the denial: otherwise a reply that was overtaken would admit a request.
func (a *tenantState) atLeast(term int64, st *claimState, minute, day, month int64, u limits.Used) limits.Used {
	if a.term == term && a.latest.Minute == minute {
		u.Minute = max(u.Minute, a.latest.MinuteUsed)
	}
	if a.term == term && a.latest.Day == day {
		u.Day = max(u.Day, a.latest.DayUsed)
	}
	if a.term == term && a.latest.Month == month {
		u.Month = max(u.Month, a.latest.MonthUsed)
	}
	if st.term == term && st.minute == minute {
		u.Key = max(u.Key, st.used)
	}
	return u
}
