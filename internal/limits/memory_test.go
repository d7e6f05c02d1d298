package limits_test

import (
	"testing"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

func TestMemory(t *testing.T) {
	limitstest.Run(t, func(testing.TB) limits.Limiter { return limits.NewMemory() })
}

func TestMemoryTakeDoesNotAllocate(t *testing.T) {
	m := limits.NewMemory()
	for name, q := range map[string]plans.Quota{"admitted": {PerMinute: 1 << 40, PerDay: 1 << 41},
		"refused": {PerMinute: 1, PerDay: 1},
		"admitted in a month": {PerMinute: 1 << 40, PerDay: 1 << 41, Month: plans.Month{
			Kind: plans.SomeMonth, Included: 9, Overage: plans.Overage{Kind: plans.OverageNumber, Value: 1 << 30},
		}}} {
		if n := testing.AllocsPerRun(
			1000,
			func() { m.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon) },
		); n != 0 {
			t.Errorf("%s: %v allocations a request, want none", name, n)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 100}
	m := limits.NewMemory()
	m.Seed(1, limits.DayAt(limitstest.Noon), 98)
	limitstest.Check(
		t,
		"first",
		m.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
		limitstest.Want(true, 1, q, limitstest.Noon, 1, 99),
	)
	limitstest.Check(
		t,
		"second",
		m.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
		limitstest.Want(true, 1, q, limitstest.Noon, 2, 100),
	)
	limitstest.Check(
		t,
		"third",
		m.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon),
		limitstest.Want(false, 1, q, limitstest.Noon, 2, 100),
	)
	limitstest.Check(
		t,
		"another tenant",
		m.Take(t.Context(), limitstest.Claim(2, q), limitstest.Noon),
		limitstest.Want(true, 2, q, limitstest.Noon, 1, 1),
	)

	m.Seed(2, limits.DayAt(limitstest.Noon), 50)
	limitstest.Check(
		t,
		"seeded after it was counted",
		m.Take(t.Context(), limitstest.Claim(2, q), limitstest.Noon),
		limitstest.Want(true, 2, q, limitstest.Noon, 2, 52),
	)
	m.Seed(2, limits.DayAt(limitstest.Noon)-1, 40)
	limitstest.Check(
		t,
		"seeded with yesterday",
		m.Take(t.Context(), limitstest.Claim(2, q), limitstest.Noon),
		limitstest.Want(true, 2, q, limitstest.Noon, 3, 53),
	)

	m.Seed(3, limits.DayAt(limitstest.Noon)-1, 100)
	limitstest.Check(
		t,
		"seeded before midnight",
		m.Take(t.Context(), limitstest.Claim(3, q), limitstest.Noon),
		limitstest.Want(true, 3, q, limitstest.Noon, 1, 1),
	)
}

func TestSeedMonth(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 100, Month: plans.Month{Kind: plans.SomeMonth, Included: 10}}
	m := limits.NewMemory()
	m.SeedMonth(1, limits.MonthAt(limitstest.Noon), 8)
	m.SeedMonth(2, limits.MonthAt(limitstest.Noon)-1, 8)
	assert.Equal(t, limitstest.TakeN(t, m, 1, q, limitstest.Noon, 20), int64(2), "admitted")
	assert.Equal(t, limitstest.TakeN(t, m, 2, q, limitstest.Noon, 20), int64(10), "admitted, seeded with last month")
	m.SeedMonth(3, limits.MonthAt(limitstest.Noon), 8)
	// A tenant that has not called for days is forgotten, but not its month.
	for days := range 5 {
		m.Take(t.Context(), limitstest.Claim(3+64, q), limitstest.Noon.AddDate(0, 0, days))
	}
	assert.Equal(t, limitstest.TakeN(t, m, 3, q, limitstest.Noon.AddDate(0, 0, 5), 20), int64(2), "admitted days later")
}

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	m := limits.NewMemory()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	for day := range 10 {
		for tenantID := range int64(1000) {
			m.Take(t.Context(), limitstest.Claim(tenantID+1000*int64(day), q), limitstest.Noon.AddDate(0, 0, day))
		}
	}
	assert.True(t, m.Held() <= 2000, m.Held(), "counters are held, want those of two days, 2000")
}
