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

func TestMonthContainsItsInstant(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 10_000 {
		at := time.Unix(random.Int64N(1<<34)-1<<33, random.Int64N(1e9)).UTC()
		number := limits.MonthAt(at)
		begin, end := time.Unix(limits.MonthReset(number-1), 0).UTC(), time.Unix(limits.MonthReset(number), 0).UTC()
		if at.Before(begin) || !at.Before(end) || begin.Day() != 1 || !begin.AddDate(0, 1, 0).Equal(end) {
			t.Fatalf("the month of %v is from %v to %v", at, begin, end)
		}
		if got := limits.Month.Seconds(end.Unix()); got != end.Unix()-begin.Unix() {
			t.Fatalf("the month of %v has %d seconds, want %d", at, got, end.Unix()-begin.Unix())
		}
	}
	for month, want := range map[string]int64{"2026-02": 2_419_200, "2028-02": 2_505_600, "2026-12": 2_678_400} {
		begin, _ := time.Parse("2006-01", month)
		if got := limits.Month.Seconds(begin.AddDate(0, 1, 0).Unix()); got != want {
			t.Errorf("%s has %d seconds, want %d", month, got, want)
		}
	}
	if n := limits.MonthAt(time.Date(1970, 1, 31, 23, 59, 59, 0, time.UTC)); n != 0 {
		t.Errorf("January 1970 is %d, want 0", n)
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
