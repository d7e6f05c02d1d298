package simtest

import (
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// simWindow is one window of one tenant, or of one key.
type simWindow struct {
	tenant, number int64
	key            int32 // of which key, 0 for the tenant's own
	day, month     bool
}

func (w simWindow) String() string {
	switch {
	case w.month:
		return fmt.Sprintf("month %d of tenant %d", w.number, w.tenant)
	case w.day:
		return fmt.Sprintf("day %d of tenant %d", w.number, w.tenant)
	case w.key != 0:
		return fmt.Sprintf("minute %d of key %c of tenant %d", w.number, w.key, w.tenant)
	}
	return fmt.Sprintf("minute %d of tenant %d", w.number, w.tenant)
}

// begins returns the first instant of the window.
func (w simWindow) begins() time.Time {
	if w.month {
		return time.Unix(limits.MonthReset(w.number-1), 0)
	}
	if w.day {
		return time.Unix(limits.DayReset(w.number-1), 0)
	}
	return time.Unix(limits.MinuteReset(w.tenant, w.number-1), 0)
}

// simCount is what really happened in one window.
type simCount struct {
	used int64 // admitted less refunded
	// taken is what Redis counted and Postgres granted, also for requests that were not admitted:
	// because a reply was lost, for example.
	taken int64
	// refunded is how many were given back since Postgres was last set back.
	refunded int64
	limit    int64 // in force at the last decision
	// exact is true when a request was refused by this very window while nothing was or had been
	// wrong in it: then as many were admitted as the limit.
	exact bool
	// loosened counts what lets Remaining rise: refunds, and limits that rose.
	loosened int
	// before has the limits that were in force before others, and the highest of those.
	before map[int64]int64
}

// allow notes the limit that is in force now.
func (c *simCount) allow(limit int64) {
	if c.limit > 0 && limit != c.limit {
		if limit > c.limit {
			c.loosened++
		}
		if c.before == nil {
			c.before = map[int64]int64{}
		}
		c.before[c.limit] = max(c.before[c.limit], limit)
		for b := range c.before {
			c.before[b] = max(c.before[b], limit)
		}
	}
	c.limit = limit
}

// simOracle knows what every server admitted, and reports broken promises. It sees every decision
// that leaves a server, in the order in which they leave.
type simOracle struct {
	counts map[simWindow]*simCount
	// reported is the last answer of each server in each window.
	reported map[simReportedAt]simReported
	// disturbed is the last instant at which something was wrong.
	disturbed time.Time
	// onlyLimits has nothing be said of anything else but the limits.
	onlyLimits bool
	// refunding is true while a request is given back: it may be seen or not.
	refunding bool
	violation string
	// forgotten is when Postgres was last set back and a server that knew more was gone.
	forgotten time.Time
	// monthsOff is the last instant at which no month was enforced. Redis does not count them then, so
	// monthsForgotten is when Postgres was last set back around that.
	monthsOff, monthsForgotten time.Time
	// margins is the most that was counted in a window for silent servers.
	margins map[simWindow]int64
	// exceeded is true when more were admitted than a limit, stale when a list was served that is
	// older than what was known.
	exceeded, stale bool
}

type simReportedAt struct {
	server int
	window simWindow
}

type simReported struct {
	remaining int64
	loosened  int
	term      int64
}

func newSimOracle() *simOracle {
	return &simOracle{
		counts:   map[simWindow]*simCount{},
		reported: map[simReportedAt]simReported{},
		margins:  map[simWindow]int64{},
	}
}

// violate keeps the first violation.
func (o *simOracle) violate(format string, args ...any) {
	if o.violation == "" && (o.exceeded || o.stale || !o.onlyLimits) {
		o.violation = fmt.Sprintf(format, args...)
	}
}

func (o *simOracle) count(w simWindow) *simCount {
	c, ok := o.counts[w]
	if !ok {
		c = &simCount{}
		o.counts[w] = c
	}
	return c
}

// of returns the claim's window that a decision shows.
func of(c *limits.Claim, w *limits.Window) simWindow {
	s := simWindow{tenant: c.TenantID, number: w.Number, day: w.Name == limits.Day, month: w.Name == limits.Month}
	if w.Name == limits.Key {
		s.key = int32(c.KeyID[len(c.KeyID)-1])
	}
	return s
}

// clean reports whether nothing was wrong in the window so far. By the clock of a server that is
// ahead it began earlier.
func (o *simOracle) clean(w simWindow) bool {
	return w.begins().Add(-simSkew).After(o.disturbed) && o.margins[w] == 0
}

// known reports whether no use of the window was forgotten.
func (o *simOracle) known(w simWindow) bool {
	begins := w.begins().Add(-2 * simSkew)
	return begins.After(o.forgotten) && (!w.month || begins.After(o.monthsForgotten))
}

// simReply is a decision as it leaves a server.
type simReply struct {
	server int
	term   int64 // by which it was made, 0 for none
	redis  bool  // decided in it
	claim  limits.Claim
	d      limits.Decision
	at     time.Time // when the request came, by the server's instants
	left   time.Time // when the answer left, in truth
	looked bool      // nothing was counted
	// overtaken is true when other answers left while this one was made.
	overtaken bool
}

// answered checks an answer and counts it.
func (o *simOracle) answered(a *simReply) {
	windows, n := a.d.Windows()
	want := 2 + min(a.claim.KeyPerMinute, 1)
	if _, limited := a.claim.Quota.Month.Cap(); limited && o.months(a.left) {
		want++
	} else if limited {
		want += min(a.d.Month.Limit, 1)
	}
	if int64(n) != want {
		o.violate("%d windows are reported, want %d", n, want)
	}
	if reached := a.d.Minute.Reached || a.d.Day.Reached || a.d.Key.Reached ||
		a.d.Month.Reached; a.d.Admitted == reached {
		o.violate("admitted %v, but windows are reached: %+v", a.d.Admitted, a.d)
	}
	o.overage(a)
	for _, w := range windows[:n] {
		o.window(a, w)
	}
	if !a.d.Admitted && !a.looked && !o.justified(a) {
		o.violate("server %d refuses %+v, and no window is full", a.server, a.d)
	}
	if !a.d.Admitted || a.looked {
		return
	}
	for _, w := range counted(&a.claim, &a.d) {
		o.count(w).used++
	}
}

// months reports whether every server enforces months, or is over its lease.
func (o *simOracle) months(at time.Time) bool { return at.Sub(o.monthsOff) > cluster.Lease+simSkew }

// counted returns the windows in which a request counts: also a month without a limit, and one that
// is only recorded.
func counted(c *limits.Claim, d *limits.Decision) (list []simWindow) {
	windows, n := d.Windows()
	for _, w := range windows[:n] {
		if w.Name != limits.Month {
			list = append(list, of(c, w))
		}
	}
	if number, ok := monthOf(c, d); ok {
		list = append(list, simWindow{tenant: c.TenantID, number: number, month: true})
	}
	return list
}

// overage checks the number of requests above the included ones.
func (o *simOracle) overage(a *simReply) {
	if a.d.Month.Name == "" || !o.months(a.left) {
		return
	}
	is := of(&a.claim, &a.d.Month)
	used := o.count(is).used
	if a.d.Admitted && !a.looked {
		used++
	}
	want := max(0, used-a.claim.Quota.Month.Included)
	if o.clean(is) && !a.overtaken && (a.d.Admitted || a.d.Month.Reached) && a.d.Overage != want {
		o.violate("server %d says that %d are above the included in %v, where %d are", a.server, a.d.Overage, is, want)
	}
}

// justified reports whether any window of a refusal is full of what was really taken, and of what
// silent servers may have taken.
func (o *simOracle) justified(a *simReply) bool {
	return o.anyWindow(&a.claim, &a.d, func(is simWindow, w *limits.Window) bool {
		return w.Reached && o.count(is).taken+o.margins[is] >= w.Limit
	})
}

// full reports whether any window of a claim is full of what was admitted.
func (o *simOracle) full(c *limits.Claim, d *limits.Decision) bool {
	return o.anyWindow(c, d, func(is simWindow, w *limits.Window) bool { return o.count(is).used >= w.Limit })
}

func (o *simOracle) anyWindow(c *limits.Claim, d *limits.Decision, holds func(simWindow, *limits.Window) bool) bool {
	windows, n := d.Windows()
	return slices.ContainsFunc(windows[:n], func(w *limits.Window) bool { return holds(of(c, w), w) })
}

// began notes what a tenant, or a key, begins with in a term for silent servers.
func (o *simOracle) began(c *limits.Claim, r *counter.Recorded) {
	day, month := simWindow{tenant: c.TenantID, day: true}, simWindow{tenant: c.TenantID, month: true}
	day.number, month.number = r.Day, r.Month
	o.margins[day] = max(o.margins[day], r.DaySilent*limits.Margin(max(c.Quota.PerMinute, r.PerMinute)))
	o.margins[month] = max(o.margins[month], r.MonthSilent*limits.Margin(max(c.Quota.PerMinute, r.MonthPerMinute)))
	d := limits.Decide(c, r.Minute, r.Day, r.Month, limits.Used{}, 0)
	for _, w := range []*limits.Window{&d.Minute, &d.Key} {
		if w.Name != "" {
			is := of(c, w)
			o.margins[is] = max(o.margins[is], r.MinuteSilent*limits.Margin(max(c.Quota.PerMinute, r.PerMinute)))
		}
	}
}

// took notes that requests of a claim were counted in Redis, or granted by Postgres, in these
// windows.
func (o *simOracle) took(c *limits.Claim, minute, day, month, n int64) {
	d := limits.Decide(c, minute, day, month, limits.Used{}, 0)
	for _, w := range counted(c, &d) {
		o.count(w).taken += n
	}
}

// window checks what an answer says of one window, before it is counted.
func (o *simOracle) window(a *simReply, w *limits.Window) {
	is := of(&a.claim, w)
	count := o.count(is)
	limit := a.claim.Quota.PerMinute
	switch w.Name {
	case limits.Day:
		limit = a.claim.Quota.PerDay
	case limits.Key:
		limit = a.claim.KeyPerMinute
	case limits.Month:
		limit, _ = a.claim.Quota.Month.Cap()
	}
	count.allow(limit)
	o.place(a, is, w)
	if w.Limit != limit {
		o.violate("%v: the limit is %d, not %d", is, limit, w.Limit)
	}
	// While Postgres decides, a limit that is again what it was finds what is left of the grants of
	// before.
	returned := !a.redis && count.used < count.before[limit]
	if w.Name == limits.Month && !o.months(a.left) {
		count.loosened++
		return
	}
	if a.d.Admitted && !a.looked && count.used >= limit && o.known(is) && !returned {
		o.exceeded = true
		o.violate("server %d admits a request in %v, where %d of %d are used", a.server, is, count.used, limit)
	}
	strict := o.clean(is) && !a.overtaken
	count.exact = count.exact || strict && w.Reached
	// A refusal by another window is given again without asking what became of this one.
	if full := count.used >= limit; strict && w.Reached != full && (w.Reached || a.d.Admitted) {
		o.violate(
			"server %d: reached is %v in %v, where %d of %d are used and nothing was wrong",
			a.server,
			w.Reached,
			is,
			count.used,
			limit,
		)
	}
	o.remaining(a, is, count, w)
}

// remaining checks the number of requests that are said to remain.
func (o *simOracle) remaining(a *simReply, is simWindow, count *simCount, w *limits.Window) {
	left := w.Limit - count.used
	if a.d.Admitted && !a.looked {
		left--
	}
	if left = max(0, left); o.clean(is) && !a.overtaken && (a.d.Admitted || w.Reached) && w.Remaining != left {
		o.violate(
			"server %d says that %d remain in %v, where %d do and nothing was wrong",
			a.server,
			w.Remaining,
			is,
			left,
		)
	}
	at := simReportedAt{a.server, is}
	last, known := o.reported[at]
	later := is
	later.number++
	if _, over := o.counts[later]; over {
		known = false // By a clock that is ahead.
	}
	if o.refunding {
		delete(o.reported, at)
		return
	}
	// A refund may be heard of late, when a server is cut from Redis: then what rises is at most
	// what remains, or remained when an overtaken answer was made.
	late := count.loosened > 0 && (a.overtaken || w.Remaining <= max(0, w.Limit-count.used))
	if w.Remaining < 0 ||
		known && last.term == a.term && last.loosened == count.loosened && !late && w.Remaining > last.remaining {
		o.violate("server %d says that %d remain in %v, after %d", a.server, w.Remaining, is, last.remaining)
	}
	o.reported[at] = simReported{remaining: w.Remaining, loosened: count.loosened, term: a.term}
}

// place checks which window it is, and when it ends. After a disturbance, or by another server's
// clock that is ahead, it may be the next one.
func (o *simOracle) place(a *simReply, is simWindow, w *limits.Window) {
	number, reset := limits.MinuteAt(is.tenant, a.at), limits.MinuteReset(is.tenant, w.Number)
	switch w.Name {
	case limits.Day:
		number, reset = limits.DayAt(a.at), limits.DayReset(w.Number)
	case limits.Month:
		number, reset = limits.MonthAt(a.at), limits.MonthReset(w.Number)
	}
	if w.Reset != reset {
		o.violate("%v ends at %d, not at %d", is, reset, w.Reset)
	}
	if a.d.Admitted && a.left.Add(simSkew).Before(is.begins()) {
		o.exceeded = true
		o.violate("%v is used at %v, and has not begun", is, a.left)
	}
	if w.Number < number || w.Number > number+1 {
		o.violate("%v is reported at %v, in number %d", is, a.at, number)
	}
	if o.clean(is) && w.Number != number && !a.left.Add(2*simSkew).After(is.begins()) {
		o.violate("%v is reported at %v, too early", is, a.at)
	}
}

// refunded takes a request back that was admitted.
func (o *simOracle) refunded(c *limits.Claim, d *limits.Decision) {
	for _, w := range counted(c, d) {
		count := o.count(w)
		count.used, count.refunded = count.used-1, count.refunded+1
	}
	o.givenBack(c, d)
}

// givenBack notes that a request is given back, which the oracle did not see if it was not
// answered.
func (o *simOracle) givenBack(c *limits.Claim, d *limits.Decision) {
	for _, w := range counted(c, d) {
		o.count(w).loosened++
	}
}
