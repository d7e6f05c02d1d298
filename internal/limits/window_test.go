package limits_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/limits"
)

func TestMinuteContainsItsInstant(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		tenantID := random.Int64() - 1<<62
		at := time.Unix(random.Int64N(1<<34)-1<<33, random.Int64N(1e9))
		number := limits.MinuteAt(tenantID, at)
		begin, end := time.Unix(
			limits.MinuteReset(tenantID, number-1),
			0,
		), time.Unix(
			limits.MinuteReset(tenantID, number),
			0,
		)
		if at.Before(begin) || !at.Before(end) || end.Sub(begin) != time.Minute {
			t.Fatalf("tenant %d: the minute of %v is from %v to %v", tenantID, at, begin, end)
		}
		day := limits.DayAt(at)
		begin, end = time.Unix(limits.DayReset(day-1), 0), time.Unix(limits.DayReset(day), 0)
		if at.Before(begin) || !at.Before(end) || begin.UTC().Format("15:04:05") != "00:00:00" {
			t.Fatalf("the day of %v is from %v to %v", at, begin, end)
		}
	}
}

// Tenants' ids count up from 1: of any run of them about as many begin their minute at one second
// as at another.
func TestPhasesSpread(t *testing.T) {
	t.Parallel()
	for _, tenants := range []int64{600, 6000, 60_000} {
		var at [60]int64
		for id := range tenants {
			at[limits.MinuteReset(id+1, -1)]++
		}
		fair := tenants / 60
		for second, n := range at {
			if n < fair*8/10 || n > fair*12/10 {
				t.Errorf("of %d tenants %d begin at second %d, fair are %d", tenants, n, second, fair)
			}
		}
	}
}
