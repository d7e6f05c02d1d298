package plans

import "time"

// CounterRow is one row of a Counters: of a tenant, or of one key of it. The zero row is that of a tenant or a key that has none
// yet. Of a key only the minute is used.
type CounterRow struct {
	// Term is the latest one that used the row, 0 for none; Redis tells whether Redis decided in it. If not, the row is exact:
	// every request was granted through it before it was admitted.
	Term  int64
	Redis bool
	// Accounted is CounterTerm.UncleanUntil, in microseconds of Unix time, up to which the row allows for servers that ended silently.
	Accounted int64

	Minute, MinuteUsed int64
	Day, DayUsed       int64
}

// CounterRows is what one call of a CounterStore works on. Its methods are the rules by which limits stay exact over the change of
// terms. They are pure: the store runs them in a transaction, and tests run the same ones without a database.
//
// The rules: what was granted counts as used, whether or not it was admitted, until it is given back in the same term. What
// Redis counted is known by the reports of its servers, by the greatest. A server that ended without a report may have
// admitted as much as there was: so the minute windows that it saw count as full, and the day by what billing recorded and as
// much as the server can have admitted before it was recorded.
type CounterRows struct {
	Tenant CounterRow
	// Key stays as it is when the claim has no limit of a key's own.
	Key CounterRow
}

// NeedsRecorded reports whether a call of that term has to know what is recorded of the tenant's day: the first one does.
// The day is that of the call's instant.
func (g CounterRows) NeedsRecorded(term int64) bool { return g.Tenant.Term < term }

// Initialized returns the rows after an opening in the term in force, which must be one in which Redis decides, and the answer to it.
// recorded is looked at when NeedsRecorded says so. It returns ErrTermOver when o is of another term, or a later one has used
// the tenant's row.
func (g CounterRows) Initialized(t CounterTerm, o InitRequest, recorded Recorded) (CounterRows, Baseline, bool, error) {
	if !t.Redis || t.Number != o.Term || g.Tenant.Term > t.Number {
		return g, Baseline{}, false, ErrTermOver
	}
	fresh := g.Tenant.Term < t.Number
	g = g.at(t, &o.Claim, o.At, recorded)
	return g, g.base(&o.Claim), fresh, nil
}

// Granted returns the rows after a claim for a grant in the term in force, which must be one in which Postgres decides, and
// the answer to it. recorded and errors are as for Initialized.
func (g CounterRows) Granted(t CounterTerm, p GrantRequest, recorded Recorded) (CounterRows, Grant, error) {
	if t.Redis || t.Number != p.Term || g.Tenant.Term > t.Number {
		return g, Grant{}, ErrTermOver
	}
	g = g.back(p.Term, p.KeyPerMinute > 0, p.Returns).at(t, &p.Claim, p.At, recorded)
	granted := share(g.remaining(&p.Claim), p.Want, t.Servers)
	g.Tenant.MinuteUsed += granted
	g.Tenant.DayUsed += granted
	if p.KeyPerMinute > 0 {
		g.Key.MinuteUsed += granted
	}
	return g, Grant{Baseline: g.base(&p.Claim), Count: granted}, nil
}

// share is how many of those that remain one server takes at a time: few enough that what it does not need is not missed by
// the others, and in ever smaller grants towards the end.
func share(remaining, want int64, servers int) int64 {
	if want <= 0 || remaining <= 0 {
		return 0
	}
	return min(remaining, max(want, remaining/(4*max(1, int64(servers)))))
}

// Reported returns the rows after a report. One of a term that is long over does no harm: what was seen can only raise what
// counts as used, and nothing is given back then.
func (g CounterRows) Reported(r Report) CounterRows {
	g = g.back(r.Term, r.KeyID != "", r.Returns)
	if r.KeyID != "" {
		g.Key = g.Key.raised(r.Seen.Minute, r.Seen.KeyUsed, 0, 0)
	}
	g.Tenant = g.Tenant.raised(r.Seen.Minute, r.Seen.MinuteUsed, r.Seen.Day, r.Seen.DayUsed)
	return g
}

// at returns the rows moved on to the windows of the instant and to the term.
func (g CounterRows) at(t CounterTerm, c *Claim, at time.Time, recorded Recorded) CounterRows {
	day := DayAt(at)
	g.Tenant = g.Tenant.moved(minuteAt(c.TenantID, at), day)
	if g.Tenant.Term < t.Number {
		if day < g.Tenant.Day {
			recorded.Used = 0 // It is of a day that is over.
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
func (r CounterRow) entered(t CounterTerm, c *Claim, recorded Recorded) CounterRow {
	var closed int64
	if !t.UncleanUntil.IsZero() {
		closed = t.UncleanUntil.UnixMicro()
	}
	r.DayUsed = max(r.DayUsed, recorded.Used)
	// Who ended in a term in which Postgres decided had its grants from here.
	if r.Redis && closed > r.Accounted {
		r = r.closed(c, t.UncleanUntil.Add(-1), recorded)
	}
	r.Term, r.Redis, r.Accounted = t.Number, t.Redis, max(r.Accounted, closed)
	return r
}

// inTwoSeconds is more than one server can admit between two records of usage, whatever the limit: it is twice what a bare one
// answers in that time on two cores.
const inTwoSeconds = 400_000

// closed returns the row when a server may have admitted requests until that instant of which nobody knows. The tenant's minute is
// refused then, and with it every key's. The day is known by what is recorded, but for the last seconds of that server, and
// they lie in two minutes at most.
func (r CounterRow) closed(c *Claim, last time.Time, recorded Recorded) CounterRow {
	if minute := minuteAt(c.TenantID, last); minute >= r.Minute {
		r.Minute, r.MinuteUsed = minute, Saturated
	}
	if DayAt(last) >= r.Day {
		r.DayUsed += 2 * min(inTwoSeconds/2, max(c.Quota.PerMinute, recorded.PerMinute))
	}
	return r
}

// moved returns the row in the windows of those numbers. It never moves back: a request whose clock was read just before
// an edge counts in the window that the edge opened.
func (r CounterRow) moved(minute, day int64) CounterRow {
	if minute > r.Minute {
		r.Minute, r.MinuteUsed = minute, 0
	}
	if day > r.Day {
		r.Day, r.DayUsed = day, 0
	}
	return r
}

// raised returns the row when that much was seen used in windows of those numbers; of windows that are over it says nothing.
func (r CounterRow) raised(minute, minuteUsed, day, dayUsed int64) CounterRow {
	r = r.moved(minute, day)
	if minute == r.Minute {
		r.MinuteUsed = max(r.MinuteUsed, minuteUsed)
	}
	if day == r.Day {
		r.DayUsed = max(r.DayUsed, dayUsed)
	}
	return r
}

// back returns the rows after grants of that term were given back. After the row was used in a later one nobody knows any
// more whether what counts as used has them in it.
func (g CounterRows) back(term int64, key bool, backs []Return) CounterRows {
	if g.Tenant.Term != term {
		return g
	}
	for _, b := range backs {
		g.Tenant = g.Tenant.lowered(b)
		if key {
			g.Key = g.Key.lowered(b)
		}
	}
	return g
}

func (r CounterRow) lowered(b Return) CounterRow {
	if b.Minute == r.Minute {
		r.MinuteUsed = max(0, r.MinuteUsed-b.Count)
	}
	if b.Day == r.Day {
		r.DayUsed = max(0, r.DayUsed-b.Count)
	}
	return r
}

func (g CounterRows) base(c *Claim) Baseline {
	b := Baseline{Minute: g.Tenant.Minute, MinuteUsed: g.Tenant.MinuteUsed, Day: g.Tenant.Day, DayUsed: g.Tenant.DayUsed}
	if c.KeyPerMinute > 0 {
		b.KeyUsed = g.Key.MinuteUsed
	}
	return b
}

// remaining is how many more requests fit into every window of the claim.
func (g CounterRows) remaining(c *Claim) int64 {
	n := min(c.Quota.PerMinute-g.Tenant.MinuteUsed, c.Quota.PerDay-g.Tenant.DayUsed)
	if c.KeyPerMinute > 0 {
		n = min(n, c.KeyPerMinute-g.Key.MinuteUsed)
	}
	return n
}
