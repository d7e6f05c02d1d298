package plans

import "testing"

func TestSeed(t *testing.T) {
	t.Parallel()
	q := Quota{PerMinute: 60, PerDay: 100}
	m := NewMemory()
	m.Seed(1, DayAt(noon), 98)
	check(t, "first", m.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 1, 99))
	check(t, "second", m.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 2, 100))
	check(t, "third", m.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, 2, 100))
	check(t, "another tenant", m.Take(t.Context(), claim(2, q), noon), want(true, 2, q, noon, 1, 1))

	m.Seed(2, DayAt(noon), 50)
	check(t, "seeded after it was counted", m.Take(t.Context(), claim(2, q), noon), want(true, 2, q, noon, 2, 52))
	m.Seed(2, DayAt(noon)-1, 40)
	check(t, "seeded with yesterday", m.Take(t.Context(), claim(2, q), noon), want(true, 2, q, noon, 3, 53))

	m.Seed(3, DayAt(noon)-1, 100)
	check(t, "seeded before midnight", m.Take(t.Context(), claim(3, q), noon), want(true, 3, q, noon, 1, 1))
}

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	q := Quota{PerMinute: 60, PerDay: 1000}
	for day := range 10 {
		for tenantID := range int64(1000) {
			m.Take(t.Context(), claim(tenantID+1000*int64(day), q), noon.AddDate(0, 0, day))
		}
	}
	held := 0
	for i := range m.shards {
		held += len(m.shards[i].counters)
	}
	if held > 2000 {
		t.Errorf("%d counters are held, want those of two days, 2000", held)
	}
}
