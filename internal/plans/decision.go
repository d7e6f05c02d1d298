package plans

import (
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/freshness"
)

// Decision is what a Limiter made of one request.
type Decision struct {
	Admitted bool
	// Partial is true when this server decided over its part of the limits, or the minute is closed (Saturated): a refusal does
	// not mean that the tenant has used them up.
	Partial bool
	// Undecided is true when no term was in force. Nothing was counted. An admitted request must then end in 5xx, because
	// Postgres is away; a refused one arrived between two terms, and may pass a moment later.
	Undecided bool
	// Term numbers the term of the cluster in which it was decided; 0 when none did.
	Term   int64
	Minute Window
	Day    Window
	// Key is the key's own minute, which begins and ends with the tenant's; zero when the key has no limit of its own.
	Key Window
	// Stamp is that of the tenant's catalogue when the request was decided.
	Stamp freshness.Stamp
}

// used is how much of a claim's windows is used.
type used struct{ minute, day, key int64 }

func (u used) plus(n int64) used { return used{minute: u.minute + n, day: u.day + n, key: u.key + n} }

// decide builds the decision for the windows of those numbers, from what was used in each before the request, which
// counts that many: 1, or 0 when it is only looked at. Every limiter decides here, so that all of them agree.
func decide(c *Claim, minute, day int64, u used, count int64) Decision {
	minuteEnd := minuteReset(c.TenantID, minute)
	d := Decision{
		Partial: u.minute >= Saturated,
		Minute:  window(Minute, minute, minuteEnd, c.Quota.PerMinute, u.minute),
		Day:     window(Day, day, dayReset(day), c.Quota.PerDay, u.day),
	}
	if c.KeyPerMinute > 0 {
		d.Key = window(Key, minute, minuteEnd, c.KeyPerMinute, u.key)
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

// Binding returns the window to show where only one can be shown: for a refused request the one that refused it, of
// several the one that resets later; otherwise the one with the fewest remaining, of equals the one that resets later. The
// tenant's minute and the key's reset together: of equals the tenant's, which is the wider one.
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

// binds reports whether w is to be shown rather than o, both of one decision.
func (w *Window) binds(o *Window) bool {
	if w.Reached != o.Reached {
		return w.Reached
	}
	if !w.Reached && w.Remaining != o.Remaining {
		return w.Remaining < o.Remaining
	}
	return w.Reset > o.Reset || w.Reset == o.Reset && w.Name == Day && o.Name == Minute
}

// Windows returns the windows of the decision, and how many of them there are: the tenant's minute, the day, and the key's
// minute when it has one.
func (d *Decision) Windows() (windows [3]*Window, count int) {
	windows, count = [3]*Window{&d.Minute, &d.Day, &d.Key}, 3
	if d.Key.Limit == 0 {
		count = 2
	}
	return windows, count
}

// RetryAfter returns the whole seconds from now to the given Unix time, rounded up and at least 1: a client that
// waits so long is never early.
func RetryAfter(reset int64, now time.Time) int64 {
	wait := time.Unix(reset, 0).Sub(now)
	return max(1, int64((wait+time.Second-1)/time.Second))
}
