package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
)

// TestWindowsThatHaveNotBegun: no request opens a window that has not begun by the store's clock, and no report tells of one.
func TestWindowsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 60, PerDay: 1000})
	now := minuteStart.Add(58 * time.Second) // Two seconds before the minute ends.
	for ahead, want := range map[time.Duration]error{
		-time.Hour: nil, 0: nil, time.Second: nil, 2*time.Second - 1: nil,
		2 * time.Second: counter.ErrNotBegun, time.Minute: counter.ErrNotBegun, 25 * time.Hour: counter.ErrNotBegun,
	} {
		before := counter.Rows{Tenant: tenantRow(4, true, 30, 300)}
		redis := counter.Term{Number: 5, Redis: true, Now: now}
		after, _, _, err := before.Initialized(redis, counter.InitRequest{Claim: c, Term: 5, At: now.Add(ahead)}, counter.Recorded{})
		if !errors.Is(err, want) || want != nil && after != before {
			t.Errorf("Initialized, %v ahead: %v, %+v", ahead, err, after)
		}
		postgres := counter.Term{Number: 5, Servers: 1, Now: now}
		after, _, err = before.Granted(postgres, counter.GrantRequest{Claim: c, Term: 5, At: now.Add(ahead), Want: 1}, counter.Recorded{})
		if !errors.Is(err, want) || want != nil && after != before {
			t.Errorf("Granted, %v ahead: %v, %+v", ahead, err, after)
		}
	}
	report := func(minute, day int64) counter.Report {
		return counter.Report{TenantID: 1, Term: 4, Seen: counter.Baseline{Minute: minute, MinuteUsed: 40, Day: day, DayUsed: 400, KeyUsed: 4}}
	}
	for _, tt := range []struct{ minute, day, wantMinute, wantDay, wantMinuteUsed, wantDayUsed int64 }{
		{rowMinute, rowDay, rowMinute, rowDay, 40, 400},
		{rowMinute + 1, rowDay, rowMinute, rowDay, 30, 400},
		{rowMinute, rowDay + 1, rowMinute, rowDay, 40, 300},
		{rowMinute + 1500, rowDay + 1, rowMinute, rowDay, 30, 300},
	} {
		rows := counter.Rows{Tenant: tenantRow(4, true, 30, 300)}.Reported(report(tt.minute, tt.day).Begun(now))
		want := counter.Rows{Tenant: tenantRow(4, true, tt.wantMinuteUsed, tt.wantDayUsed)}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", tt, diff)
		}
	}
	next := report(rowMinute+1, rowDay)
	if diff := cmp.Diff(next, next.Begun(minuteStart.Add(time.Minute-time.Second))); diff != "" {
		t.Errorf("a second before the minute begins (-want +got)\n%s", diff)
	}
}
