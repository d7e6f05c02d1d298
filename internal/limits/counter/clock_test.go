package counter_test

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
)

// TestWindowsThatHaveNotBegun: no request opens a window that has not begun by the store's clock.
func TestWindowsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 60, PerDay: 1000})
	now := minuteStart.Add(58 * time.Second) // Two seconds before the minute ends.
	for ahead, want := range map[time.Duration]error{
		-time.Hour: nil, 0: nil, time.Second: nil, 2*time.Second - 1: nil,
		2 * time.Second: counter.ErrNotBegun, time.Minute: counter.ErrNotBegun, 25 * time.Hour: counter.ErrNotBegun,
	} {
		before := counter.Rows{Tenant: tenantRow(4, 30, 300)}
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
}
