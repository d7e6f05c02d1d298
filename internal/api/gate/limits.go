package gate

import (
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// Limits is what a response says about the caller's limits. The contract's three headers show the
// binding window, the two headers of the IETF's draft all windows.
type Limits struct {
	Limit, Remaining, Reset int64

	Windows [4]Window
	Count   int
	// Overage is how many requests of the month are above the included ones.
	Overage int64
}

// Window is one window. Seconds is its length, and its reset is in Unix seconds.
type Window struct {
	Name                             limits.WindowName
	Seconds, Quota, Remaining, Reset int64
}

// add adds a window that is as long as that of its name which ends at ends.
func (l *Limits) add(name limits.WindowName, ends, quota, remaining, reset int64) {
	l.Windows[l.Count] = Window{name, name.Seconds(ends), quota, remaining, reset}
	l.Count++
}

func tenantLimits(d *limits.Decision) Limits {
	b := d.Binding()
	l := Limits{Limit: b.Limit, Remaining: b.Remaining, Reset: b.Reset, Overage: d.Overage}
	windows, count := d.Windows()
	for _, w := range windows[:count] {
		l.add(w.Name, w.Reset, w.Limit, w.Remaining, w.Reset)
	}
	return l
}

// bannedLimits says that no window admits a request before the ban ends. The binding window is the
// narrowest.
func bannedLimits(c *keys.Caller, reset int64, now time.Time) Limits {
	q := c.Tenant.Quota
	l := Limits{Limit: q.PerMinute, Reset: reset}
	l.add(limits.Minute, reset, q.PerMinute, 0, reset)
	l.add(limits.Day, reset, q.PerDay, 0, reset)
	if c.PerMinute > 0 {
		l.add(limits.Key, reset, c.PerMinute, 0, reset)
		l.Limit = min(l.Limit, c.PerMinute)
	}
	if limit, ok := q.Month.Cap(); ok {
		l.add(limits.Month, limits.MonthReset(limits.MonthAt(now)), limit, 0, reset)
	}
	return l
}

func addressLimits(b limiter.Context) Limits {
	l := Limits{Limit: b.Limit, Remaining: b.Remaining, Reset: b.Reset}
	l.add(limits.Address, b.Reset, b.Limit, b.Remaining, b.Reset)
	return l
}
