package plans

import (
	"testing"
	"time"
)

func TestBinding(t *testing.T) {
	t.Parallel()
	q := Quota{PerMinute: 60, PerDay: 1000}
	// A tenant whose last minute of the day resets after midnight, and a minute that does.
	late := int64(1)
	for phase(late) == 0 {
		late++
	}
	day := DayAt(noon)
	minute, lastMinute := minuteAt(late, noon), minuteAt(late, time.Unix(dayReset(day)-1, 0))
	for _, c := range []struct {
		name             string
		minute           int64
		minuteUsed, used int64
		want             WindowName
	}{
		{"fewer remain in the minute", minute, 10, 10, Minute},
		{"fewer remain in the day", minute, 10, 960, Day},
		{"as many remain, the day resets later", minute, 10, 950, Day},
		{"as many remain, the minute resets later", lastMinute, 10, 950, Minute},
		{"the last one of both", minute, 59, 999, Day},
		{"refused by the minute", minute, 60, 60, Minute},
		{"refused by the minute, the day has none to spare", minute, 60, 999, Minute},
		{"refused by the day", minute, 10, 1000, Day},
		{"refused by the day, the minute after a downgrade of it", minute, 59, 2000, Day},
		{"refused by both, the day resets later", minute, 60, 1000, Day},
		{"refused by both, the minute resets later", lastMinute, 60, 1000, Minute},
	} {
		claimed := claim(late, q)
		d := decide(&claimed, c.minute, day, used{minute: c.minuteUsed, day: c.used}, 1)
		got := d.Binding()
		if got.Name != c.want {
			t.Errorf("%s: %s binds, want the %s", c.name, got.Name, c.want)
		}
		if d.Admitted == got.Reached {
			t.Errorf("%s: admitted %v, but the window that binds says reached %v", c.name, d.Admitted, got.Reached)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		now  time.Time
		want int64
	}{
		{at.Add(-time.Hour), 3600},
		{at.Add(-time.Minute), 60},
		{at.Add(-time.Minute + 1), 60},
		{at.Add(-time.Minute - 1), 61},
		{at.Add(-time.Second), 1},
		{at.Add(-1), 1},
		{at, 1},
		{at.Add(time.Hour), 1},
	} {
		if got := RetryAfter(at.Unix(), c.now); got != c.want {
			t.Errorf("RetryAfter %v before the reset = %d, want %d", at.Sub(c.now), got, c.want)
		}
	}
}
