package plans

import (
	"time"

	"github.com/ulule/limiter/v3"
)

// Decision is what a Limiter made of one request.
type Decision struct {
	Admitted bool
	// Share is true when one of several servers decided alone, over its share of the limits: a refusal then does not mean
	// that the tenant has used them up.
	Share  bool
	Minute Window
	Day    Window
}

// decide builds the decision for the windows of those numbers, from what was used in each before the request.
// Every limiter decides here, so that all of them agree.
func decide(tenantID int64, q Quota, minute, minuteUsed, day, dayUsed int64) Decision {
	d := Decision{
		Minute: Window{Name: Minute, Number: minute, Context: limiter.Context{
			Limit: q.PerMinute, Reset: minuteReset(tenantID, minute), Reached: minuteUsed >= q.PerMinute,
		}},
		Day: Window{Name: Day, Number: day, Context: limiter.Context{
			Limit: q.PerDay, Reset: dayReset(day), Reached: dayUsed >= q.PerDay,
		}},
	}
	d.Admitted = !d.Minute.Reached && !d.Day.Reached
	if d.Admitted {
		minuteUsed++
		dayUsed++
	}
	// After a downgrade more may have been used than the limit now is.
	d.Minute.Remaining = max(0, q.PerMinute-minuteUsed)
	d.Day.Remaining = max(0, q.PerDay-dayUsed)
	return d
}

// Binding returns the window to show where only one can be shown: for a refused request the one that refused it, of
// two the one that resets later; otherwise the one with the fewest remaining, of equals the one that resets later.
func (d Decision) Binding() Window {
	if d.Minute.Reached != d.Day.Reached {
		if d.Minute.Reached {
			return d.Minute
		}
		return d.Day
	}
	if !d.Minute.Reached && d.Minute.Remaining != d.Day.Remaining {
		if d.Minute.Remaining < d.Day.Remaining {
			return d.Minute
		}
		return d.Day
	}
	if d.Minute.Reset > d.Day.Reset {
		return d.Minute
	}
	return d.Day
}

// RetryAfter returns the whole seconds from now to the given Unix time, rounded up and at least 1: a client that
// waits so long is never early.
func RetryAfter(reset int64, now time.Time) int64 {
	wait := time.Unix(reset, 0).Sub(now)
	return max(1, int64((wait+time.Second-1)/time.Second))
}
