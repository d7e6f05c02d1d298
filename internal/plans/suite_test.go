package plans

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/plans/redistest"
)

// noon is in the middle of a day, and of a minute for no tenant in particular.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// limiters runs a test over every Limiter, each time over an empty one.
func limiters(t *testing.T, test func(t *testing.T, l Limiter)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, NewMemory())
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		l := newWorld().server(t, redistest.Shared(t), patient)
		test(t, l)
		if degraded(l) {
			t.Error("the limiter lost Redis: this test has shown nothing of it")
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld().server(t, nowhere, patient))
	})
}

// claim is one of a tenant's key without a limit of its own.
func claim(tenantID int64, q Quota) Claim { return Claim{TenantID: tenantID, KeyID: "key_1", Quota: q} }

// takeN takes n times at one instant and returns how many were admitted.
func takeN(t testing.TB, l Limiter, tenantID int64, q Quota, now time.Time, n int) (admitted int64) {
	t.Helper()
	for range n {
		if l.Take(t.Context(), claim(tenantID, q), now).Admitted {
			admitted++
		}
	}
	return admitted
}

// want is the decision that a limiter must have made, from what is used after it.
func want(admitted bool, tenantID int64, q Quota, now time.Time, minuteUsed, dayUsed int64) Decision {
	minute, day := minuteAt(tenantID, now), DayAt(now)
	return Decision{
		Admitted: admitted,
		Minute: Window{Name: Minute, Number: minute, Context: limiter.Context{
			Limit: q.PerMinute, Remaining: max(0, q.PerMinute-minuteUsed), Reset: minute*60 + 60 + phase(tenantID),
			Reached: !admitted && minuteUsed >= q.PerMinute,
		}},
		Day: Window{Name: Day, Number: day, Context: limiter.Context{
			Limit: q.PerDay, Remaining: max(0, q.PerDay-dayUsed), Reset: (day + 1) * 86400,
			Reached: !admitted && dayUsed >= q.PerDay,
		}},
	}
}

func check(t testing.TB, what string, got, want Decision) {
	t.Helper()
	got.Term, got.Stamp = want.Term, want.Stamp
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTakeCountsInBothWindows(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 2, PerDay: 5}
		check(t, "first", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 1, 1))
		check(t, "second", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 2, 2))
		check(t, "third", l.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, 2, 2))
		check(t, "another tenant", l.Take(t.Context(), claim(2, q), noon), want(true, 2, q, noon, 1, 1))
	})
}

func TestRefusedConsumesNothing(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 3, PerDay: 5}
		if got := takeN(t, l, 1, q, noon, 100); got != 3 {
			t.Fatalf("first minute: %d admitted, want 3", got)
		}
		// Had the refused ones counted in the day, it would be full now.
		next := noon.Add(time.Minute)
		check(t, "after refusals by the minute", l.Take(t.Context(), claim(1, q), next), want(true, 1, q, next, 1, 4))
		if got := takeN(t, l, 1, q, next, 100); got != 1 {
			t.Fatalf("second minute: %d more admitted, want 1", got)
		}
		check(t, "refused by the day", l.Take(t.Context(), claim(1, q), next), want(false, 1, q, next, 2, 5))
		// Had they counted in the minute, a larger day would not open it.
		larger := Quota{PerMinute: 3, PerDay: 6}
		check(t, "after refusals by the day", l.Take(t.Context(), claim(1, larger), next), want(true, 1, larger, next, 3, 6))
		check(t, "refused by both", l.Take(t.Context(), claim(1, larger), next), want(false, 1, larger, next, 3, 6))
	})
}

func TestWindowEdges(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		const tenantID = 7
		q := Quota{PerMinute: 1, PerDay: 2}
		full := l.Take(t.Context(), claim(tenantID, q), noon)
		reset := time.Unix(full.Minute.Reset, 0)
		before := reset.Add(-1)
		check(t, "one tick before the minute's reset", l.Take(t.Context(), claim(tenantID, q), before), want(false, tenantID, q, before, 1, 1))
		check(t, "at the minute's reset", l.Take(t.Context(), claim(tenantID, q), reset), want(true, tenantID, q, reset, 1, 2))

		midnight := time.Unix(full.Day.Reset, 0)
		before = midnight.Add(-1)
		check(t, "one tick before midnight", l.Take(t.Context(), claim(tenantID, q), before), want(false, tenantID, q, before, 0, 2))
		check(t, "at midnight", l.Take(t.Context(), claim(tenantID, q), midnight), want(true, tenantID, q, midnight, 1, 1))
	})
}

func TestBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	l := NewMemory()
	q := Quota{PerMinute: 2, PerDay: 3}
	at := time.Unix(-1, 0)
	check(t, "first", l.Take(t.Context(), claim(1, q), at), want(true, 1, q, at, 1, 1))
	check(t, "second", l.Take(t.Context(), claim(1, q), at), want(true, 1, q, at, 2, 2))
	check(t, "third", l.Take(t.Context(), claim(1, q), at), want(false, 1, q, at, 2, 2))
	at = time.Unix(0, 0).Add(time.Minute)
	check(t, "the day after", l.Take(t.Context(), claim(1, q), at), want(true, 1, q, at, 1, 1))
}

func TestPlanChangeHoldsAtOnce(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		small, large := Quota{PerMinute: 2, PerDay: 10}, Quota{PerMinute: 4, PerDay: 12}
		takeN(t, l, 1, small, noon, 3)
		check(t, "upgrade", l.Take(t.Context(), claim(1, large), noon), want(true, 1, large, noon, 3, 3))
		check(t, "downgrade", l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 3, 3))
		check(t, "upgrade again", l.Take(t.Context(), claim(1, large), noon), want(true, 1, large, noon, 4, 4))
		next := noon.Add(time.Minute)
		check(t, "the next minute", l.Take(t.Context(), claim(1, small), next), want(true, 1, small, next, 1, 5))
	})
}

func TestRefund(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 2, PerDay: 3}
		first := l.Take(t.Context(), claim(1, q), noon)
		l.Take(t.Context(), claim(1, q), noon)
		refused := l.Take(t.Context(), claim(1, q), noon)
		l.Refund(t.Context(), Claim{TenantID: 1}, refused)
		check(t, "after the refund of a refusal", l.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, 2, 2))
		l.Refund(t.Context(), Claim{TenantID: 1}, first)
		check(t, "after a refund", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 2, 2))

		// Across the edge of a minute: the day gets it back, the new minute nothing.
		next := noon.Add(time.Minute)
		l.Refund(t.Context(), Claim{TenantID: 1}, first)
		check(t, "the next minute, after a late refund", l.Take(t.Context(), claim(1, q), next), want(true, 1, q, next, 1, 2))
		check(t, "and then", l.Take(t.Context(), claim(1, q), next), want(true, 1, q, next, 2, 3))

		// Across midnight: nothing is left to give back.
		tomorrow := noon.Add(24 * time.Hour)
		check(t, "tomorrow", l.Take(t.Context(), claim(1, q), tomorrow), want(true, 1, q, tomorrow, 1, 1))
		l.Refund(t.Context(), Claim{TenantID: 1}, first)
		check(t, "after a refund of yesterday", l.Take(t.Context(), claim(1, q), tomorrow), want(true, 1, q, tomorrow, 2, 2))
	})
}

func TestRefundNeverFallsBelowZero(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 2, PerDay: 3}
		d := l.Take(t.Context(), claim(1, q), noon)
		for range 5 {
			l.Refund(t.Context(), Claim{TenantID: 1}, d)
		}
		l.Refund(t.Context(), Claim{TenantID: 2}, d) // never seen
		check(t, "after it", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 1, 1))
	})
}

// A clock that steps back may count in the window it was in before or in the one it is in now, but in none more than
// the limit.
func TestClockSteppingBack(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		random := rand.New(rand.NewPCG(1, 2))
		q := Quota{PerMinute: 20, PerDay: 70}
		midnight := noon.Add(12 * time.Hour)
		minutes, days := map[int64]int64{}, map[int64]int64{}
		for range 2000 {
			now := midnight.Add(time.Duration(random.Int64N(int64(6*time.Minute))) - 3*time.Minute)
			if d := l.Take(t.Context(), claim(1, q), now); d.Admitted {
				minutes[d.Minute.Number]++
				days[d.Day.Number]++
			}
		}
		for number, n := range minutes {
			if n > q.PerMinute {
				t.Errorf("minute %d: %d admitted, the limit is %d", number, n, q.PerMinute)
			}
		}
		for number, n := range days {
			if n > q.PerDay {
				t.Errorf("day %d: %d admitted, the limit is %d", number, n, q.PerDay)
			}
		}
	})
}
