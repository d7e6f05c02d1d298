package counter

import (
	"time"

	"petstore.example/internal/limits"
)

// Row is one row of a Store: of a tenant, or of one of its keys. The zero Row is that of a tenant or key that has none yet. A key's row
// uses the minute only.
type Row struct {
	// Term is the latest one that used the row, 0 for none; Redis says whether Redis decided in it. If not, the row is exact: every
	// request was granted from it before it was admitted.
	Term  int64
	Redis bool
	// Accounted is the Term.UncleanUntil that the row already allows for, in microseconds of Unix time.
	Accounted int64

	Minute, MinuteUsed int64
	Day, DayUsed       int64
	// MinuteUnknown and DayUnknown are how much of what is used may not have been used: the margin for silent servers.
	MinuteUnknown, DayUnknown int64
}

// Rows are the rows that one call of a Store works on. Its methods are the rules:
//
//   - What was granted counts as used, whether or not it was admitted, until it is returned in the same term.
//   - What Redis counted is known by its servers' reports, of which the maximum counts.
//   - A server that ended without a report may have admitted limits.Margin more than it recorded, and no more. So after its end a
//     window counts what all servers have recorded of it, and a margin for each silent one.
type Rows struct {
	Tenant Row
	// Key stays as it is if the key has no limit of its own.
	Key Row
}

// NeedsRecorded reports whether a call in that term needs to know what billing recorded, and of which minute and day: those in which the
// call counts. The first call of a tenant does, and that of a key in a minute in which a server ended silently.
func (g Rows) NeedsRecorded(t Term, c *limits.Claim, at time.Time) (minute, day int64, needs bool) {
	minute, day = max(limits.MinuteAt(c.TenantID, at), g.Tenant.Minute), max(limits.DayAt(at), g.Tenant.Day)
	if g.Tenant.Term < t.Number && g.Tenant.unclean(t) {
		// By a clock that is ahead its last requests may have counted in later windows.
		minute, day = max(minute, limits.MinuteAt(c.TenantID, t.lastUnclean())), max(day, limits.DayAt(t.lastUnclean()))
	}
	return minute, day, g.Tenant.Term < t.Number || c.KeyPerMinute > 0 && g.Key.Term < t.Number && t.uncleanIn(c.TenantID, minute)
}

// Initialized returns the rows after an initialization, and its result. The term must be in force, and Redis must decide in it.
// recorded is of what NeedsRecorded says. The error is ErrTermOver if the request is of another term, or a later term has used
// the tenant's row, and ErrNotBegun if its windows have not begun by the store's clock.
func (g Rows) Initialized(t Term, r InitRequest, recorded Recorded) (Rows, Baseline, bool, error) {
	if !t.Redis || t.Number != r.Term || g.Tenant.Term > t.Number {
		return g, Baseline{}, false, ErrTermOver
	}
	if err := t.begun(r.TenantID, r.At); err != nil {
		return g, Baseline{}, false, err
	}
	fresh := g.Tenant.Term < t.Number
	g = g.at(t, &r.Claim, r.At, recorded)
	return g, g.base(&r.Claim), fresh, nil
}

// Granted returns the rows after a grant, and the grant. The term must be in force, and Postgres must decide in it. recorded and the
// error are as for Initialized.
func (g Rows) Granted(t Term, p GrantRequest, recorded Recorded) (Rows, Grant, error) {
	if t.Redis || t.Number != p.Term || g.Tenant.Term > t.Number {
		return g, Grant{}, ErrTermOver
	}
	if err := t.begun(p.TenantID, p.At); err != nil {
		return g, Grant{}, err
	}
	g = g.returned(p.Term, p.KeyPerMinute > 0, p.Returns).at(t, &p.Claim, p.At, recorded)
	granted := grantSize(g.remaining(&p.Claim), p.Want, t.Servers)
	g.Tenant.MinuteUsed += granted
	g.Tenant.DayUsed += granted
	if p.KeyPerMinute > 0 {
		g.Key.MinuteUsed += granted
	}
	return g, Grant{Baseline: g.base(&p.Claim), Count: granted}, nil
}

// grantSize is how much of what remains one server takes at a time: little enough that the others do not miss what it does not need,
// and less and less towards the end.
func grantSize(remaining, want int64, servers int) int64 {
	if want <= 0 || remaining <= 0 {
		return 0
	}
	return min(remaining, max(want, remaining/(4*max(1, int64(servers)))))
}

// Reported returns the rows after a report. One of a term that is long over does no harm: what was seen can only raise what counts
// as used, and nothing is returned then.
func (g Rows) Reported(r Report) Rows {
	g = g.returned(r.Term, r.KeyID != "", r.Returns)
	if r.KeyID != "" {
		g.Key = g.Key.raised(r.Seen.Minute, r.Seen.KeyUsed, 0, 0)
	}
	g.Tenant = g.Tenant.raised(r.Seen.Minute, r.Seen.MinuteUsed, r.Seen.Day, r.Seen.DayUsed)
	return g
}

// at returns the rows in the windows of that instant and in the term.
func (g Rows) at(t Term, c *limits.Claim, at time.Time, recorded Recorded) Rows {
	minute, day, _ := g.NeedsRecorded(t, c, at)
	g.Tenant = g.Tenant.moved(minute, day)
	if g.Tenant.Term < t.Number {
		g.Tenant = g.Tenant.entered(t, c, recorded)
	}
	if c.KeyPerMinute > 0 {
		g.Key = g.Key.moved(g.Tenant.Minute, 0)
		if g.Key.Term < t.Number && t.uncleanIn(c.TenantID, minute) {
			if recorded.Minute = recorded.Key; !t.recordsAll(day) {
				recorded.MinuteNumber = -1
			}
			g.Key = g.Key.minuteBounded(recorded, margin(c, recorded), true)
		}
		g.Key.Term, g.Key.Redis, g.Key.Accounted = g.Tenant.Term, g.Tenant.Redis, g.Tenant.Accounted
	}
	return g
}

// unclean reports whether a server may have ended silently since the row was last used. In a term in which Postgres decided, every
// server had its grants from this row, unless it was set back.
func (r Row) unclean(t Term) bool {
	return (r.Redis || r.Term < t.SetBack) && !t.UncleanUntil.IsZero() && t.UncleanUntil.UnixMicro() > r.Accounted
}

// lastUnclean is the last instant at which a silent server may have admitted a request.
func (t Term) lastUnclean() time.Time { return t.UncleanUntil.Add(-1) }

// recordsAll reports whether what servers recorded of a day, and of the minutes that end in it, is still there. Otherwise the store was set
// back on it, and a silent server may have admitted whatever remained of two minutes: its lease lies in no more.
func (t Term) recordsAll(day int64) bool {
	return t.SetBack == 0 || limits.DayAt(t.SetBackAt.Add(2*time.Minute)) < day
}

// uncleanIn reports whether a silent server may have admitted requests in a minute.
func (t Term) uncleanIn(tenantID, minute int64) bool {
	return !t.UncleanUntil.IsZero() && limits.MinuteAt(tenantID, t.lastUnclean()) >= minute
}

// entered returns a tenant's row at its first use in a term.
func (r Row) entered(t Term, c *limits.Claim, recorded Recorded) Row {
	uncleanDay := r.unclean(t) && limits.DayAt(t.lastUnclean()) >= r.Day
	uncleanMinute := r.unclean(t) && t.uncleanIn(c.TenantID, r.Minute)
	if t.recordsAll(r.Day) {
		each := margin(c, recorded)
		r.DayUsed, r.DayUnknown = bounded(r.DayUsed, r.DayUnknown, recorded.Used, recorded.Silent*each, uncleanDay)
		if uncleanMinute || r.MinuteUnknown > 0 {
			r = r.minuteBounded(recorded, each, uncleanMinute)
		}
	} else {
		r.DayUsed = max(r.DayUsed, recorded.Used)
		r = r.afterLoss(uncleanDay, uncleanMinute, 2*max(c.Quota.PerMinute, recorded.PerMinute))
	}
	r.Term, r.Redis = t.Number, t.Redis
	if !t.UncleanUntil.IsZero() {
		r.Accounted = max(r.Accounted, t.UncleanUntil.UnixMicro())
	}
	return r
}

// margin is how much a silent server may have admitted and not recorded, under the largest limit of the day.
func margin(c *limits.Claim, recorded Recorded) int64 {
	return limits.Margin(max(c.Quota.PerMinute, recorded.PerMinute))
}

// afterLoss returns the row at its first use in a term on a day whose records are not all there. What was unknown stays so: nothing tells
// that it was not used.
func (r Row) afterLoss(uncleanDay, uncleanMinute bool, most int64) Row {
	if uncleanDay {
		r.DayUsed, r.DayUnknown = r.DayUsed+most, r.DayUnknown+most
	}
	if uncleanMinute {
		r = r.saturated()
	}
	return r
}

// saturated returns the row with a minute that is full, whatever the limit.
func (r Row) saturated() Row {
	r.MinuteUsed, r.MinuteUnknown = limits.Saturated, limits.Saturated-r.MinuteUsed+r.MinuteUnknown
	return r
}

func (r Row) minuteBounded(recorded Recorded, each int64, unclean bool) Row {
	switch {
	case recorded.MinuteNumber == r.Minute:
		r.MinuteUsed, r.MinuteUnknown = bounded(r.MinuteUsed, r.MinuteUnknown, recorded.Minute, recorded.SilentMinute*each, unclean)
	case unclean:
		r = r.saturated()
	}
	return r
}

// bounded returns what counts as used of a window at the first use in a term, and how much of that is unknown. All that was admitted is
// recorded, except for the margin. It was also reported, or granted, unless a server has ended silently since then. So the lesser of
// the two is enough, which gives back what was unknown when a silent server has recorded it after all. But what is known to be used
// counts in any case.
func bounded(used, unknown, recorded, margin int64, unclean bool) (newUsed, newUnknown int64) {
	known, most := max(used-unknown, recorded), recorded+margin
	if !unclean {
		most = min(most, used)
	}
	newUsed = max(known, most)
	return newUsed, newUsed - known
}

// moved returns the row in these windows. It never moves back: a request whose clock was read just before the end of a window
// counts in the next one if that has begun.
func (r Row) moved(minute, day int64) Row {
	if minute > r.Minute {
		r.Minute, r.MinuteUsed, r.MinuteUnknown = minute, 0, 0
	}
	if day > r.Day {
		r.Day, r.DayUsed, r.DayUnknown = day, 0, 0
	}
	return r
}

// raised returns the row after that much was seen used in these windows. Of windows that are over this says nothing.
func (r Row) raised(minute, minuteUsed, day, dayUsed int64) Row {
	r = r.moved(minute, day)
	if minute == r.Minute {
		r.MinuteUsed = max(r.MinuteUsed, minuteUsed)
	}
	if day == r.Day {
		r.DayUsed = max(r.DayUsed, dayUsed)
	}
	return r
}

// returned returns the rows after grants of that term were returned. Once a later term has used the row, nobody knows whether it
// still counts them.
func (g Rows) returned(term int64, key bool, returns []Return) Rows {
	if g.Tenant.Term != term {
		return g
	}
	for _, b := range returns {
		g.Tenant = g.Tenant.lowered(b)
		if key {
			g.Key = g.Key.lowered(b)
		}
	}
	return g
}

func (r Row) lowered(b Return) Row {
	if b.Minute == r.Minute {
		r.MinuteUsed = max(r.MinuteUnknown, r.MinuteUsed-b.Count)
	}
	if b.Day == r.Day {
		r.DayUsed = max(r.DayUnknown, r.DayUsed-b.Count)
	}
	return r
}

func (g Rows) base(c *limits.Claim) Baseline {
	b := Baseline{
		Minute: g.Tenant.Minute, MinuteUsed: g.Tenant.MinuteUsed, Day: g.Tenant.Day, DayUsed: g.Tenant.DayUsed,
		Unknown: limits.Unknown{Minute: g.Tenant.MinuteUnknown, Day: g.Tenant.DayUnknown},
	}
	if c.KeyPerMinute > 0 {
		b.KeyUsed, b.Unknown.Key = g.Key.MinuteUsed, g.Key.MinuteUnknown
	}
	return b
}

// remaining is how many more requests fit into every window of the claim.
func (g Rows) remaining(c *limits.Claim) int64 {
	n := min(c.Quota.PerMinute-g.Tenant.MinuteUsed, c.Quota.PerDay-g.Tenant.DayUsed)
	if c.KeyPerMinute > 0 {
		n = min(n, c.KeyPerMinute-g.Key.MinuteUsed)
	}
	return n
}
