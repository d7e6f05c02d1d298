package limits

import (
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/freshness"
)

// Decision is what a Limiter made of one request.
type Decision struct {
	Admitted bool
	// Partial is true if a refusal does not mean that the tenant has used its limits up: this
	// server decided by its share of them, or a server ended silently and what it may have admitted
	// counts as used.
	Partial bool
	// Undecided is true if this server can't decide at the moment. Nothing was counted, and it must
	// end in 503. It may pass a moment later.
	Undecided bool
	// Term is the number of the term in which it was decided; 0 for none.
	Term   int64
	Minute Window
	Day    Window
	// Key is the key's own minute, which begins and ends with the tenant's; zero if the key has no
	// limit of its own.
	Key Window
	// Stamp is the one of the tenant's catalogue when the request was decided.
	Stamp freshness.Stamp
}

// Used is how much of a claim's windows is used.
type Used struct{ Minute, Day, Key int64 }

// Plus returns the counts after n more requests.
func (u Used) Plus(n int64) Used { return Used{Minute: u.Minute + n, Day: u.Day + n, Key: u.Key + n} }

// Decide is the one rule: a request is admitted if every window of its claim has room. u is what
// was used of the windows with these numbers before the request. The request counts that many, 1,
// or 0 if it only looks. All limiters decide here.
func Decide(c *Claim, minute, day int64, u Used, count int64) Decision {
	minuteEnd := MinuteReset(c.TenantID, minute)
	d := Decision{
		Minute: window(Minute, minute, minuteEnd, c.Quota.PerMinute, u.Minute),
		Day:    window(Day, day, DayReset(day), c.Quota.PerDay, u.Day),
	}
	if c.KeyPerMinute > 0 {
		d.Key = window(Key, minute, minuteEnd, c.KeyPerMinute, u.Key)
	}
	d.Admitted = !d.Minute.Reached && !d.Day.Reached && !d.Key.Reached
	if d.Admitted {
		d.Minute.Remaining -= count
		d.Day.Remaining -= count
		if c.KeyPerMinute > 0 {
			d.Key.Remaining -= count
		}
	}
	return d
}

func window(name WindowName, number, reset, limit, used int64) Window {
	return Window{Name: name, Number: number, Context: limiter.Context{
		// After a downgrade more may have been used than the limit now is.
		Limit: limit, Remaining: max(0, limit-used), Reset: reset, Reached: used >= limit,
	}}
}

// Binding returns the window to show where only one can be shown: the window that refused the
// request, or else the window with the fewest remaining requests. If several qualify, the window
// that resets later is shown; the tenant's minute and the key's reset together, and then the
// tenant's is shown.
func (d *Decision) Binding() Window {
	b := &d.Minute
	if d.Day.binds(b) {
		b = &d.Day
	}
	if d.Key.Limit > 0 && d.Key.binds(b) {
		b = &d.Key
	}
	return *b
}

// binds reports whether w is shown rather than o. Both are of one decision.
func (w *Window) binds(o *Window) bool {
	if w.Reached != o.Reached {
		return w.Reached
	}
	if !w.Reached && w.Remaining != o.Remaining {
		return w.Remaining < o.Remaining
	}
	return w.Reset > o.Reset || w.Reset == o.Reset && w.Name == Day && o.Name == Minute
}

// Windows returns the windows of the decision and their number: the tenant's minute, the day, and
// the key's minute if it has a limit.
func (d *Decision) Windows() (windows [3]*Window, count int) {
	windows, count = [3]*Window{&d.Minute, &d.Day, &d.Key}, 3
	if d.Key.Limit == 0 {
		count = 2
	}
	return windows, count
}

// RetryAfter returns the seconds from now to the given Unix time, rounded up and at least 1: a
// client that waits that long is never early.
func RetryAfter(reset int64, now time.Time) int64 {
	wait := time.Unix(reset, 0).Sub(now)
	return max(1, int64((wait+time.Second-1)/time.Second))
}
