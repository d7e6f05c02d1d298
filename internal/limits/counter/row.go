package counter

import (
	"time"

	"petstore.example/internal/limits"
)

// Row is one row of a Store: of a tenant, or of one of its keys. The zero Row is that of a tenant
// or key that has none yet. A key's row uses the minute only.
type Row struct {
	// Term is the latest one that used the row, 0 for none. If Postgres decides in it, the row is
	// exact: every request was granted from it before it was admitted. If Redis does, the row says
	// where Redis began.
	Term int64

	Minute, MinuteUsed int64
	Day, DayUsed       int64
}

// Rows are the rows that one call of a Store works on. Its methods are the rules:
//
//   - A term begins where the records stand: a window counts what all servers have recorded of it,
//     and limits.Margin for each server that
//     ended silently and may have admitted so much more. Nothing else survives a term.
//   - What was granted counts as used, whether or not it was admitted, until it is returned in the
//     same term.
type Rows struct {
	Tenant Row
	// Key stays as it is if the key has no limit of its own.
	Key Row
}

// NeedsRecorded reports whether a call in that term needs to know what is recorded, and of which
// windows: the first call of a tenant in a term does, and the first of each key.
//
// A request may have waited for the term since before a window's end. A silent server stopped
// before the term began, so it used no window that is later than the present one: in a new term, no
// earlier one is used.
func (g Rows) NeedsRecorded(t Term, c *limits.Claim, at time.Time) (w Wanted, needs bool) {
	if g.Tenant.Term == t.Number {
		minute, day := g.windows(t, c, at)
		return Wanted{minute, day, minute, day}, c.KeyPerMinute > 0 && g.Key.Term < t.Number
	}
	w.Minute, w.Day = g.windows(t, c, at)
	w.LatestMinute, w.LatestDay = t.latest(c.TenantID)
	return w, true
}

// windows returns the earliest windows in which a request of that instant may count.
func (g Rows) windows(t Term, c *limits.Claim, at time.Time) (minute, day int64) {
	minute, day = limits.MinuteAt(c.TenantID, at), limits.DayAt(at)
	if g.Tenant.Term == t.Number {
		return max(minute, g.Tenant.Minute), max(day, g.Tenant.Day)
	}
	return max(minute, limits.MinuteAt(c.TenantID, t.Now)), max(day, limits.DayAt(t.Now))
}

// Initialized returns the rows after an initialization, and its result. The term must be in force,
// and Redis must decide in it. recorded is of what NeedsRecorded says. The error is ErrTermOver if
// the request is of another term, or a later term has used the tenant's row, and ErrNotBegun if its
// windows have not begun by the store's clock.
func (g Rows) Initialized(t Term, r InitRequest, recorded Recorded) (Rows, Baseline, bool, error) {
	if !t.Redis || t.Number != r.Term || g.Tenant.Term > t.Number {
		return g, Baseline{}, false, ErrTermOver
	}
	if err := t.begun(r.TenantID, r.At); err != nil {
		return g, Baseline{}, false, err
	}
	fresh := g.Tenant.Term < t.Number
	g = g.at(t, &r.Claim, r.At, recorded)
	base := g.base(&r.Claim)
	base.LatestMinute, base.LatestDay = t.latest(r.TenantID)
	return g, base, fresh, nil
}

// Granted returns the rows after a grant, and the grant. The term must be in force, and Postgres
// must decide in it. recorded and the error are as for Initialized.
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

// grantSize is how much of what remains one server takes at a time: little enough that the others
// do not miss what it does not need, and less and less towards the end.
func grantSize(remaining, want int64, servers int) int64 {
	if want <= 0 || remaining <= 0 {
		return 0
	}
	return min(remaining, max(want, remaining/(4*max(1, int64(servers)))))
}

// at returns the rows in the windows of that instant and in the term.
func (g Rows) at(t Term, c *limits.Claim, at time.Time, recorded Recorded) Rows {
	minute, day := g.windows(t, c, at)
	margin := limits.Margin(max(c.Quota.PerMinute, recorded.PerMinute))
	if g.Tenant.Term < t.Number {
		g.Tenant = Row{
			Term: t.Number, Minute: recorded.Minute, MinuteUsed: recorded.MinuteUsed + recorded.MinuteSilent*margin,
			Day: recorded.Day, DayUsed: recorded.DayUsed + recorded.DaySilent*margin,
		}
	}
	g.Tenant = g.Tenant.moved(minute, day)
	if c.KeyPerMinute > 0 {
		if g.Key.Term < t.Number {
			g.Key = Row{
				Term:       t.Number,
				Minute:     recorded.Minute,
				MinuteUsed: recorded.KeyUsed + recorded.MinuteSilent*margin,
			}
		}
		g.Key = g.Key.moved(g.Tenant.Minute, 0)
	}
	return g
}

// moved returns the row in these windows. It never moves back: a request whose clock was read just
// before the end of a window counts in the next one if that has begun.
func (r Row) moved(minute, day int64) Row {
	if minute > r.Minute {
		r.Minute, r.MinuteUsed = minute, 0
	}
	if day > r.Day {
		r.Day, r.DayUsed = day, 0
	}
	return r
}

// returned returns the rows after grants of that term were returned. Once a later term has used the
// row, it does not count them.
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
		r.MinuteUsed = max(0, r.MinuteUsed-b.Count)
	}
	if b.Day == r.Day {
		r.DayUsed = max(0, r.DayUsed-b.Count)
	}
	return r
}

func (g Rows) base(c *limits.Claim) Baseline {
	b := Baseline{
		Minute:     g.Tenant.Minute,
		MinuteUsed: g.Tenant.MinuteUsed,
		Day:        g.Tenant.Day,
		DayUsed:    g.Tenant.DayUsed,
	}
	if c.KeyPerMinute > 0 {
		b.KeyUsed = g.Key.MinuteUsed
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
