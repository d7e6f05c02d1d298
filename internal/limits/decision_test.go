package limits_test

import (
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

func TestBinding(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	// A tenant whose last minute of the day resets after midnight, and a minute that does.
	late := int64(1)
	for limits.MinuteReset(late, -1) == 0 {
		late++
	}
	day := limits.DayAt(limitstest.Noon)
	minute, lastMinute := limits.MinuteAt(
		late,
		limitstest.Noon,
	), limits.MinuteAt(
		late,
		time.Unix(limits.DayReset(day)-1, 0),
	)
	for _, c := range []struct {
		name             string
		minute           int64
		minuteUsed, used int64
		want             limits.WindowName
	}{
		{"fewer remain in the minute", minute, 10, 10, limits.Minute},
		{"fewer remain in the day", minute, 10, 960, limits.Day},
		{"as many remain, the day resets later", minute, 10, 950, limits.Day},
		{"as many remain, the minute resets later", lastMinute, 10, 950, limits.Minute},
		{"the last one of both", minute, 59, 999, limits.Day},
		{"refused by the minute", minute, 60, 60, limits.Minute},
		{"refused by the minute, the day has none to spare", minute, 60, 999, limits.Minute},
		{"refused by the day", minute, 10, 1000, limits.Day},
		{"refused by the day, the minute after a downgrade of it", minute, 59, 2000, limits.Day},
		{"refused by both, the day resets later", minute, 60, 1000, limits.Day},
		{"refused by both, the minute resets later", lastMinute, 60, 1000, limits.Minute},
	} {
		claimed := limitstest.Claim(late, q)
		d := limits.Decide(
			&claimed,
			c.minute,
			day,
			limits.MonthAt(limitstest.Noon),
			limits.Used{Minute: c.minuteUsed, Day: c.used},
			1,
		)
		got := d.Binding()
		assert.Equal(t, got.Name, c.want, c.name, "binds")
		if d.Admitted == got.Reached {
			t.Errorf("%s: admitted %v, but the window that binds says reached %v", c.name, d.Admitted, got.Reached)
		}
	}
}

// TestBindingOfNothing: a month that admits nothing, by SQL, is what refuses.
func TestBindingOfNothing(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 60, PerDay: 1000, Month: plans.Month{Kind: plans.SomeMonth}})
	d := limits.Decide(&c, 1, 1, limits.MonthAt(limitstest.Noon), limits.Used{}, 1)
	if got := d.Binding(); d.Admitted || got.Name != limits.Month || !got.Reached {
		t.Errorf("binding window %+v of %+v", got, d)
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
		if got := limits.RetryAfter(at.Unix(), c.now); got != c.want {
			t.Errorf("RetryAfter %v before the reset = %d, want %d", at.Sub(c.now), got, c.want)
		}
	}
}
