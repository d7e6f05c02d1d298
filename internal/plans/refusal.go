package plans

import "time"

// refusalAge is how long a refusal is given again without asking, while this server does not hear of refunds.
const refusalAge = time.Second

// refusal is what was said when a claim was last refused: as long as nothing that it depends on changes, the same would be said
// again. The zero refusal holds for nothing.
type refusal struct {
	// term is the one in which it was said; session is the subscription by which this server would hear of a refund since
	// before it was said, 0 for none.
	term, session int64
	quota         Quota
	perKey        int64
	minute, day   int64
	used          used
	at            time.Time
	// partial is true when others may hold what remains.
	partial bool
}

// still returns what is used of the windows at now, and false when the refusal holds no longer.
func (f *refusal) still(term, session int64, c *Claim, minute, day int64, now time.Time) (used, bool) {
	if f.term != term || f.term == 0 || f.quota != c.Quota || f.perKey != c.KeyPerMinute || day > f.day {
		return used{}, false
	}
	if hears := session != 0 && f.session == session; !hears && now.Sub(f.at).Abs() >= refusalAge {
		return used{}, false
	}
	if minute <= f.minute {
		return f.used, true
	}
	// A new minute: it is empty, for nothing was admitted as long as the day is full.
	return used{day: f.used.day}, f.used.day >= f.quota.PerDay
}

// refused returns the refusal that the claim would get, false when somebody has to be asked.
func (l *ledger) refused(term, session int64, c *Claim, minute, day int64, now time.Time) (Decision, bool) {
	s := l.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[c.TenantID]
	if !ok {
		return Decision{}, false
	}
	f := &a.tenant.refusal
	if c.KeyPerMinute > 0 {
		st, ok := a.keys[c.KeyID]
		if !ok {
			return Decision{}, false
		}
		f = &st.refusal
	}
	u, ok := f.still(term, session, c, minute, day, now)
	if !ok {
		return Decision{}, false
	}
	minute = max(minute, f.minute)
	// What others of the tenant used meanwhile. Never less than what refused: of an answer that was overtaken it would admit.
	if a.term == term && a.latest.Minute == minute {
		u.minute = max(u.minute, a.latest.MinuteUsed)
	}
	if a.term == term && a.latest.Day == f.day {
		u.day = max(u.day, a.latest.DayUsed)
	}
	if st := a.state(c); c.KeyPerMinute > 0 && st.term == term && st.minute == minute {
		u.key = max(u.key, st.latest)
	}
	if minute == f.minute {
		f.used = u
	}
	d := decide(c, minute, f.day, u, 1)
	d.Partial = d.Partial || f.partial
	if a.shown.term == term && !d.Admitted {
		a.show(term, a.state(c), &d)
	}
	return d, !d.Admitted
}

// forgetRefusals forgets what is refused to a tenant, because something was given back.
func (l *ledger) forgetRefusals(tenantID int64) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[tenantID]
	if !ok {
		return
	}
	a.tenant.refusal = refusal{}
	for _, st := range a.keys {
		st.refusal = refusal{}
	}
}
