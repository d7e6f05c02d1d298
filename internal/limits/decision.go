package limits

import (
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/freshness"
	"petstore.example/internal/plans"
)

// Decision is a Limiter's answer to one request.
type Decision struct {
	Admitted bool
	// Partial is true if a refusal may come before the limit is used up: this server decided by its
	// share, or a server ended silently and what it may have admitted counts as used.
	Partial bool
	// Undecided is true if this server can't decide at the moment. Nothing was counted, and the
	// request must end in 503. A retry a moment later may be decided.
	Undecided bool
	// Term is the number of the term that decided; 0 for none.
	Term   int64
	Minute Window
	Day    Window
	// Key is the key's own minute, which begins and ends with the tenant's; zero if the key has no
	// limit of its own.
	Key Window
	// Month is zero if the request does not count in a month. Its limit is 0 if it counts, but
	// without a limit.
	Month Window
	// Overage is how many requests of the month are above the included ones, with this one.
	Overage int64
	// Stamp is the stamp of the tenant's catalogue at the decision.
	Stamp freshness.Stamp
}

// Used is how much of a claim's windows is used.
type Used struct{ Minute, Day, Key, Month int64 }

// Plus returns the counts after n more requests of a claim.
func (u Used) Plus(c *Claim, n int64) Used {
	u = Used{Minute: u.Minute + n, Day: u.Day + n, Key: u.Key + n, Month: u.Month}
	if c.Quota.Month.Kind == plans.SomeMonth {
		u.Month += n
	}
	return u
}

// Fits returns how many of n more requests of a claim have room in all its windows.
func (u Used) Fits(c *Claim, n int64) int64 {
	n = min(n, c.Quota.PerMinute-u.Minute, c.Quota.PerDay-u.Day)
	if c.KeyPerMinute > 0 {
		n = min(n, c.KeyPerMinute-u.Key)
	}
	if limit, ok := c.Quota.Month.Cap(); ok {
		n = min(n, limit-u.Month)
	}
	return max(0, n)
}

// Decide is the one rule of all limiters: a request is admitted if every window of its claim has
// room. u is what was used of these windows before the request. month is not looked at if the quota
// has none. count is 1, or 0 if the request only looks.
func Decide(c *Claim, minute, day, month int64, u Used, count int64) Decision {
	minuteEnd := MinuteReset(c.TenantID, minute)
	d := Decision{
		Minute: window(Minute, minute, minuteEnd, c.Quota.PerMinute, u.Minute),
		Day:    window(Day, day, DayReset(day), c.Quota.PerDay, u.Day),
	}
	if c.KeyPerMinute > 0 {
		d.Key = window(Key, minute, minuteEnd, c.KeyPerMinute, u.Key)
	}
	inMonth := c.Quota.Month.Kind == plans.SomeMonth
	if inMonth {
		d.Month = Window{Name: Month, Number: month, Context: limiter.Context{Reset: MonthReset(month)}}
		if limit, ok := c.Quota.Month.Cap(); ok {
			d.Month = window(Month, month, d.Month.Reset, limit, u.Month)
		}
	}
	d.Admitted = !d.Minute.Reached && !d.Day.Reached && !d.Key.Reached && !d.Month.Reached
	if d.Admitted {
		d.Minute.Remaining -= count
		d.Day.Remaining -= count
		if c.KeyPerMinute > 0 {
			d.Key.Remaining -= count
		}
		u.Month += count
		if d.Month.Limit > 0 {
			d.Month.Remaining -= count
		}
	}
	if inMonth {
		d.Overage = max(0, u.Month-c.Quota.Month.Included)
	}
	return d
}

func window(name WindowName, number, reset, limit, used int64) Window {
	return Window{Name: name, Number: number, Context: limiter.Context{
		// After a downgrade, used may exceed the limit.
		Limit: limit, Remaining: max(0, limit-used), Reset: reset, Reached: used >= limit,
	}}
}

// Binding returns the window to show where only one can be shown: the window that refused the
// request, or else the one with the fewest remaining requests. If several qualify, the window that
// resets later is shown. Of windows that reset together the longest is shown, and the tenant's
// minute rather than the key's.
func (d *Decision) Binding() Window {
	b := &d.Minute
	if d.Day.binds(b) {
		b = &d.Day
	}
	if d.Key.Limit > 0 && d.Key.binds(b) {
		b = &d.Key
	}
	if (d.Month.Limit > 0 || d.Month.Reached) && d.Month.binds(b) {
		b = &d.Month
	}
	return *b
}

// binds reports whether w is shown rather than o, a window of the same decision.
func (w *Window) binds(o *Window) bool {
	if w.Reached != o.Reached {
		return w.Reached
	}
	if !w.Reached && w.Remaining != o.Remaining {
		return w.Remaining < o.Remaining
	}
	return w.Reset > o.Reset ||
		w.Reset == o.Reset && (w.Name == Month || w.Name == Day && o.Name == Minute)
}

// Windows returns the windows of the decision that have limits, and their number: the tenant's
// minute and day, the key's minute, and the month.
func (d *Decision) Windows() (windows [4]*Window, count int) {
	windows, count = [4]*Window{&d.Minute, &d.Day}, 2
	if d.Key.Limit > 0 {
		windows[count] = &d.Key
		count++
	}
	if d.Month.Limit > 0 {
		windows[count] = &d.Month
		count++
	}
	return windows, count
}

// RetryAfter returns the seconds from now to a Unix time, at least 1. It rounds up, so a client
// that waits that long is never early.
func RetryAfter(reset int64, now time.Time) int64 {
	wait := time.Unix(reset, 0).Sub(now)
	return max(1, int64((wait+time.Second-1)/time.Second))
}
