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
}

// Rows are the rows that one call of a Store works on. Its methods are the rules:
//
//   - What was granted counts as used, whether or not it was admitted, until it is returned in the same term.
//   - What Redis counted is known by its servers' reports, of which the maximum counts.
//   - A server that ended without a report may have admitted whatever remained. The minute in which it ended is saturated, and the
//     day counts what billing recorded plus as much as the server can have admitted before it was recorded.
type Rows struct {
	Tenant Row
	// Key stays as it is if the key has no limit of its own.
	Key Row
}

// NeedsRecorded reports whether a call in that term needs to know what billing recorded of the day of the call's instant. The first
// one does.
func (g Rows) NeedsRecorded(term int64) bool { return g.Tenant.Term < term }

// Initialized returns the rows after an initialization, and its result. The term must be in force, and Redis must decide in it.
// recorded is used if NeedsRecorded says so. The error is ErrTermOver if the request is of another term, or a later term has used
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
	day := limits.DayAt(at)
	g.Tenant = g.Tenant.moved(limits.MinuteAt(c.TenantID, at), day)
	if g.Tenant.Term < t.Number {
		if day < g.Tenant.Day {
			recorded.Used = 0 // That is of a day that is over.
		}
		g.Tenant = g.Tenant.entered(t, c, recorded)
	}
	if c.KeyPerMinute > 0 {
		g.Key = g.Key.moved(g.Tenant.Minute, 0)
		g.Key.Term, g.Key.Redis, g.Key.Accounted = g.Tenant.Term, g.Tenant.Redis, g.Tenant.Accounted
	}
	return g
}

// entered returns a tenant's row at its first use in a term.
func (r Row) entered(t Term, c *limits.Claim, recorded Recorded) Row {
	var unclean int64
	if !t.UncleanUntil.IsZero() {
		unclean = t.UncleanUntil.UnixMicro()
	}
	r.DayUsed = max(r.DayUsed, recorded.Used)
	// In a term in which Postgres decided, every server had its grants from this row, unless it was set back.
	if (r.Redis || r.Term < t.SetBack) && unclean > r.Accounted {
		r = r.saturated(c, t.UncleanUntil.Add(-1), recorded)
	}
	r.Term, r.Redis, r.Accounted = t.Number, t.Redis, max(r.Accounted, unclean)
	return r
}

// inTwoSeconds is more than one server can admit between two records of usage, whatever the limit: twice what a server without
// limits answers in that time on two cores.
const inTwoSeconds = 400_000

// saturated returns the row if a server may have admitted unknown requests until that instant. The tenant's minute is refused then,
// and with it every key's. The day is known from what is recorded, except for that server's last seconds, which lie in two minutes
// at most.
func (r Row) saturated(c *limits.Claim, last time.Time, recorded Recorded) Row {
	if minute := limits.MinuteAt(c.TenantID, last); minute >= r.Minute {
		r.Minute, r.MinuteUsed = minute, limits.Saturated
	}
	if limits.DayAt(last) >= r.Day {
		r.DayUsed += 2 * min(inTwoSeconds/2, max(c.Quota.PerMinute, recorded.PerMinute))
	}
	return r
}

// moved returns the row in these windows. It never moves back: a request whose clock was read just before the end of a window
// counts in the next one if that has begun.
func (r Row) moved(minute, day int64) Row {
	if minute > r.Minute {
		r.Minute, r.MinuteUsed = minute, 0
	}
	if day > r.Day {
		r.Day, r.DayUsed = day, 0
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
		r.MinuteUsed = max(0, r.MinuteUsed-b.Count)
	}
	if b.Day == r.Day {
		r.DayUsed = max(0, r.DayUsed-b.Count)
	}
	return r
}

func (g Rows) base(c *limits.Claim) Baseline {
	b := Baseline{Minute: g.Tenant.Minute, MinuteUsed: g.Tenant.MinuteUsed, Day: g.Tenant.Day, DayUsed: g.Tenant.DayUsed}
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
