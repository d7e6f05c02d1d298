package limitstest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// Noon is in the middle of a day, and at no special point of a minute.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// tests are the suite, by the names that documents use.
var tests = map[string]func(*testing.T, limits.Limiter){
	"RefusedConsumesNothing":                refusedConsumesNothing,
	"WindowEdges":                           windowEdges,
	"PlanChangeHoldsAtOnce":                 planChangeHoldsAtOnce,
	"Refund":                                refund,
	"RefundNeverFallsBelowZero":             refundNeverFallsBelowZero,
	"ClockSteppingBack":                     clockSteppingBack,
	"ExactUnderConcurrency":                 exactUnderConcurrency,
	"ExactWithKeys":                         exactWithKeys,
	"ExactWithKeysTogether":                 exactWithKeysTogether,
	"LikeTheModel":                          likeTheModel,
	"RetryAfterIsTheFirstInstantThatPasses": retryAfterIsTheFirstInstantThatPasses,
}

// Run runs the suite, each test over an empty limiter.
func Run(t *testing.T, newLimiter func(testing.TB) limits.Limiter) {
	t.Parallel()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newLimiter(t))
		})
	}
}

// Claim returns a claim of a tenant's key without a limit of its own.
func Claim(tenantID int64, q plans.Quota) limits.Claim {
	return limits.Claim{TenantID: tenantID, KeyID: "key_1", Quota: q}
}

// TakeN takes n times at one instant and returns the number of admitted requests.
func TakeN(t testing.TB, l limits.Limiter, tenantID int64, q plans.Quota, now time.Time, n int) (admitted int64) {
	t.Helper()
	for range n {
		if l.Take(t.Context(), Claim(tenantID, q), now).Admitted {
			admitted++
		}
	}
	return admitted
}

// Want returns the decision that a limiter must make, given what is used after it.
func Want(admitted bool, tenantID int64, q plans.Quota, now time.Time, minuteUsed, dayUsed int64) limits.Decision {
	minute, day := limits.MinuteAt(tenantID, now), limits.DayAt(now)
	return limits.Decision{
		Admitted: admitted,
		Minute: limits.Window{Name: limits.Minute, Number: minute, Context: limiter.Context{
			Limit: q.PerMinute, Remaining: max(0, q.PerMinute-minuteUsed), Reset: limits.MinuteReset(tenantID, minute),
			Reached: !admitted && minuteUsed >= q.PerMinute,
		}},
		Day: limits.Window{Name: limits.Day, Number: day, Context: limiter.Context{
			Limit: q.PerDay, Remaining: max(0, q.PerDay-dayUsed), Reset: (day + 1) * 86400,
			Reached: !admitted && dayUsed >= q.PerDay,
		}},
	}
}

// WithMonth adds to a decision what a limiter must say of the month, given what is used after it.
func WithMonth(d limits.Decision, q plans.Quota, now time.Time, used int64) limits.Decision {
	if q.Month.Kind != plans.SomeMonth {
		return d
	}
	month := limits.MonthAt(now)
	d.Month = limits.Window{Name: limits.Month, Number: month, Context: limiter.Context{
		Reset: limits.MonthReset(month),
	}}
	if limit, ok := q.Month.Cap(); ok {
		d.Month.Limit, d.Month.Remaining = limit, max(0, limit-used)
		d.Month.Reached = !d.Admitted && used >= limit
	}
	d.Overage = max(0, used-q.Month.Included)
	return d
}

// Month returns one with at most that many included requests, and an overage of any kind.
func Month(random *rand.Rand, most int64) plans.Month {
	m := plans.Month{Kind: plans.SomeMonth, Included: 1 + random.Int64N(most)}
	switch random.IntN(4) {
	case 0:
		m.Overage = plans.Overage{Kind: plans.OverageNumber, Value: 1 + random.Int64N(5)}
	case 1:
		m.Overage = plans.Overage{Kind: plans.OverageShare, Value: 1 + random.Int64N(50)}
	case 2:
		m.Overage = plans.Overage{Kind: plans.OverageUnlimited}
	}
	return m
}

// Check compares two decisions, except for the term and the stamp.
func Check(t testing.TB, what string, got, want limits.Decision) {
	t.Helper()
	got.Term, got.Stamp = want.Term, want.Stamp
	assert.DeepEqual(t, got, want, what)
}

func refusedConsumesNothing(t *testing.T, l limits.Limiter) {
	q := plans.Quota{PerMinute: 3, PerDay: 5}
	if got := TakeN(t, l, 1, q, Noon, 100); got != 3 {
		t.Fatalf("first minute: %d admitted, want 3", got)
	}
	// If the refused requests had counted in the day, the day would be full now.
	next := Noon.Add(time.Minute)
	Check(t, "after refusals by the minute", l.Take(t.Context(), Claim(1, q), next), Want(true, 1, q, next, 1, 4))
	if got := TakeN(t, l, 1, q, next, 100); got != 1 {
		t.Fatalf("second minute: %d more admitted, want 1", got)
	}
	Check(t, "refused by the day", l.Take(t.Context(), Claim(1, q), next), Want(false, 1, q, next, 2, 5))
	// If they had counted in the minute, the minute would be full even with a larger day.
	larger := plans.Quota{PerMinute: 3, PerDay: 6}
	Check(
		t,
		"after refusals by the day",
		l.Take(t.Context(), Claim(1, larger), next),
		Want(true, 1, larger, next, 3, 6),
	)
	Check(t, "refused by both", l.Take(t.Context(), Claim(1, larger), next), Want(false, 1, larger, next, 3, 6))
}

func windowEdges(t *testing.T, l limits.Limiter) {
	const tenantID = 7
	q := plans.Quota{PerMinute: 1, PerDay: 2}
	full := l.Take(t.Context(), Claim(tenantID, q), Noon)
	reset := time.Unix(full.Minute.Reset, 0)
	before := reset.Add(-1)
	Check(
		t,
		"one tick before the minute's reset",
		l.Take(t.Context(), Claim(tenantID, q), before),
		Want(false, tenantID, q, before, 1, 1),
	)
	Check(
		t,
		"at the minute's reset",
		l.Take(t.Context(), Claim(tenantID, q), reset),
		Want(true, tenantID, q, reset, 1, 2),
	)

	midnight := time.Unix(full.Day.Reset, 0)
	before = midnight.Add(-1)
	Check(
		t,
		"one tick before midnight",
		l.Take(t.Context(), Claim(tenantID, q), before),
		Want(false, tenantID, q, before, 0, 2),
	)
	Check(t, "at midnight", l.Take(t.Context(), Claim(tenantID, q), midnight), Want(true, tenantID, q, midnight, 1, 1))
}

func planChangeHoldsAtOnce(t *testing.T, l limits.Limiter) {
	small, large := plans.Quota{PerMinute: 2, PerDay: 10}, plans.Quota{PerMinute: 4, PerDay: 12}
	TakeN(t, l, 1, small, Noon, 3)
	Check(t, "upgrade", l.Take(t.Context(), Claim(1, large), Noon), Want(true, 1, large, Noon, 3, 3))
	Check(t, "downgrade", l.Take(t.Context(), Claim(1, small), Noon), Want(false, 1, small, Noon, 3, 3))
	Check(t, "upgrade again", l.Take(t.Context(), Claim(1, large), Noon), Want(true, 1, large, Noon, 4, 4))
	next := Noon.Add(time.Minute)
	Check(t, "the next minute", l.Take(t.Context(), Claim(1, small), next), Want(true, 1, small, next, 1, 5))
}

func refund(t *testing.T, l limits.Limiter) {
	q := plans.Quota{PerMinute: 2, PerDay: 3}
	first := l.Take(t.Context(), Claim(1, q), Noon)
	l.Take(t.Context(), Claim(1, q), Noon)
	refused := l.Take(t.Context(), Claim(1, q), Noon)
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, refused)
	Check(t, "after the refund of a refusal", l.Take(t.Context(), Claim(1, q), Noon), Want(false, 1, q, Noon, 2, 2))
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	Check(t, "after a refund", l.Take(t.Context(), Claim(1, q), Noon), Want(true, 1, q, Noon, 2, 2))

	// After the minute has ended, a refund goes to the day, but not to the new minute.
	next := Noon.Add(time.Minute)
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	Check(
		t,
		"the next minute, after a late refund",
		l.Take(t.Context(), Claim(1, q), next),
		Want(true, 1, q, next, 1, 2),
	)
	Check(t, "and then", l.Take(t.Context(), Claim(1, q), next), Want(true, 1, q, next, 2, 3))

	// After midnight a refund has no effect.
	tomorrow := Noon.Add(24 * time.Hour)
	Check(t, "tomorrow", l.Take(t.Context(), Claim(1, q), tomorrow), Want(true, 1, q, tomorrow, 1, 1))
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	Check(
		t,
		"after a refund of yesterday",
		l.Take(t.Context(), Claim(1, q), tomorrow),
		Want(true, 1, q, tomorrow, 2, 2),
	)
}

func refundNeverFallsBelowZero(t *testing.T, l limits.Limiter) {
	q := plans.Quota{PerMinute: 2, PerDay: 3}
	d := l.Take(t.Context(), Claim(1, q), Noon)
	for range 5 {
		l.Refund(t.Context(), limits.Claim{TenantID: 1}, d)
	}
	l.Refund(t.Context(), limits.Claim{TenantID: 2}, d) // never seen
	Check(t, "after it", l.Take(t.Context(), Claim(1, q), Noon), Want(true, 1, q, Noon, 1, 1))
}

// If a clock is set back, a request may count in the earlier or in the present window, but none may
// exceed its limit.
func clockSteppingBack(t *testing.T, l limits.Limiter) {
	random := rand.New(rand.NewPCG(1, 2))
	q := plans.Quota{PerMinute: 20, PerDay: 70}
	midnight := Noon.Add(12 * time.Hour)
	minutes, days := map[int64]int64{}, map[int64]int64{}
	for range 2000 {
		now := midnight.Add(time.Duration(random.Int64N(int64(6*time.Minute))) - 3*time.Minute)
		if d := l.Take(t.Context(), Claim(1, q), now); d.Admitted {
			minutes[d.Minute.Number]++
			days[d.Day.Number]++
		}
	}
	for number, n := range minutes {
		assert.True(t, n <= q.PerMinute, "minute", number, n, "admitted, the limit is", q.PerMinute)
	}
	for number, n := range days {
		assert.True(t, n <= q.PerDay, "day", number, n, "admitted, the limit is", q.PerDay)
	}
}
