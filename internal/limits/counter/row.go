package counter

import (
	"math"
	"time"

	"petstore.example/internal/limits"
)

// Row is one row of a Store, for a tenant or one of its keys. The zero Row stands for a row that
// does not exist yet. A key's row uses the minute only.
type Row struct {
	// Term is the latest term that used the row, 0 for none. If Postgres decides in that term, the
	// row is exact: every request was granted from the row before it was admitted. If Redis does,
	// the row has the counts at which Redis began.
	Term int64

	Minute, MinuteUsed int64
	Day, DayUsed       int64
	Month, MonthUsed   int64
}

// Rows are the rows that one call of a Store works on. Its methods are the rules:
//
//   - A term begins at the records: a window starts with what all servers have recorded of it, plus
//     limits.Margin for each server that ended silently and may have admitted that much more.
//     Nothing else survives a term.
//   - A granted request counts as used, admitted or not, until it is returned in the same term.
type Rows struct {
	Tenant Row
	// Key is unchanged if the key has no limit of its own.
	Key Row
}

// NeedsRecorded reports whether a call in the term needs recorded usage, and says from which
// windows. The first call for a tenant or a key in a term does.
//
// A request may have waited for the term since an earlier window. In a new term it counts in the
// present window at the earliest: a silent server may have used any window up to the present one,
// but no later one, because it stopped before the term began.
func (g Rows) NeedsRecorded(t Term, c *limits.Claim, at time.Time) (w Wanted, needs bool) {
	if g.Tenant.Term == t.Number {
		minute, day, month := g.windows(t, c, at)
		return Wanted{minute, day, month, minute, day, month}, c.KeyPerMinute > 0 && g.Key.Term < t.Number
	}
	w.Minute, w.Day, w.Month = g.windows(t, c, at)
	w.LatestMinute, w.LatestDay, w.LatestMonth = t.latest(c.TenantID)
	return w, true
}

// windows returns the earliest windows in which a request made at the instant may count.
func (g Rows) windows(t Term, c *limits.Claim, at time.Time) (minute, day, month int64) {
	minute, day, month = limits.MinuteAt(c.TenantID, at), limits.DayAt(at), limits.MonthAt(at)
	if g.Tenant.Term == t.Number {
		return max(minute, g.Tenant.Minute), max(day, g.Tenant.Day), max(month, g.Tenant.Month)
	}
	return max(minute, limits.MinuteAt(c.TenantID, t.Now)), max(day, limits.DayAt(t.Now)),
		max(month, limits.MonthAt(t.Now))
}

// Initialized returns the rows after an initialization, and its result. The term must be in force,
// and Redis must decide in it. recorded is the usage that NeedsRecorded asked for. The error is
// ErrTermOver if the request belongs to another term or a later term has used the tenant's row, and
// ErrNotBegun if its windows have not begun by the store's clock.
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
	base.LatestMinute, base.LatestDay, base.LatestMonth = t.latest(r.TenantID)
	return g, base, fresh, nil
}

// Granted returns the rows after a grant, and the grant. The term must be in force, and Postgres
// must decide in it. recorded and the error are as in Initialized.
func (g Rows) Granted(t Term, p GrantRequest, recorded Recorded) (Rows, Grant, error) {
	if t.Redis || t.Number != p.Term || g.Tenant.Term > t.Number {
		return g, Grant{}, ErrTermOver
	}
	if err := t.begun(p.TenantID, p.At); err != nil {
		return g, Grant{}, err
	}
	g = g.returned(p.Term, p.KeyPerMinute > 0, p.Returns).at(t, &p.Claim, p.At, recorded)
	base := g.base(&p.Claim)
	granted := grantSize(base.Used().Fits(&p.Claim, math.MaxInt64), p.Want, t.Servers)
	g.Tenant.MinuteUsed += granted
	g.Tenant.DayUsed += granted
	if p.Counts(g.Tenant.Month) != 0 {
		g.Tenant.MonthUsed += granted
	}
	if p.KeyPerMinute > 0 {
		g.Key.MinuteUsed += granted
	}
	return g, Grant{Baseline: g.base(&p.Claim), Count: granted}, nil
}

// grantSize is the part of what remains that one server takes at a time. It is small enough that
// the others do not miss it, and shrinks towards the end.
func grantSize(remaining, want int64, servers int) int64 {
	if want <= 0 || remaining <= 0 {
		return 0
	}
	return min(remaining, max(want, remaining/(4*max(1, int64(servers)))))
}

// at returns the rows moved to the term and to the windows of the instant.
func (g Rows) at(t Term, c *limits.Claim, at time.Time, recorded Recorded) Rows {
	minute, day, month := g.windows(t, c, at)
	margin := limits.Margin(max(c.Quota.PerMinute, recorded.PerMinute))
	if g.Tenant.Term < t.Number {
		g.Tenant = Row{
			Term: t.Number, Minute: recorded.Minute, MinuteUsed: recorded.MinuteUsed + recorded.MinuteSilent*margin,
			Day: recorded.Day, DayUsed: recorded.DayUsed + recorded.DaySilent*margin,
			Month: recorded.Month, MonthUsed: recorded.MonthUsed +
				recorded.MonthSilent*limits.Margin(max(c.Quota.PerMinute, recorded.MonthPerMinute)),
		}
	}
	g.Tenant = g.Tenant.moved(minute, day, month)
	if c.KeyPerMinute > 0 {
		if g.Key.Term < t.Number {
			g.Key = Row{
				Term:       t.Number,
				Minute:     recorded.Minute,
				MinuteUsed: recorded.KeyUsed + recorded.MinuteSilent*margin,
			}
		}
		g.Key = g.Key.moved(g.Tenant.Minute, 0, 0)
	}
	return g
}

// moved returns the row in the windows. It never moves back: a request that was timed just before
// the end of a window counts in the next one if that has begun.
func (r Row) moved(minute, day, month int64) Row {
	if minute > r.Minute {
		r.Minute, r.MinuteUsed = minute, 0
	}
	if day > r.Day {
		r.Day, r.DayUsed = day, 0
	}
	if month > r.Month {
		r.Month, r.MonthUsed = month, 0
	}
	return r
}

// returned gives the rows after the term's grants came back. It ignores the grants once a later
// term has used the row.
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
	if b.Month == r.Month {
		r.MonthUsed = max(0, r.MonthUsed-b.Count)
	}
	return r
}

func (g Rows) base(c *limits.Claim) Baseline {
	b := Baseline{
		Minute:     g.Tenant.Minute,
		MinuteUsed: g.Tenant.MinuteUsed,
		Day:        g.Tenant.Day,
		DayUsed:    g.Tenant.DayUsed,
		Month:      g.Tenant.Month,
		MonthUsed:  g.Tenant.MonthUsed,
	}
	if c.KeyPerMinute > 0 {
		b.KeyUsed = g.Key.MinuteUsed
	}
	return b
}
