package plans

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/plans/redistest"
)

// contest lets 64 callers of one tenant, spread over the servers' limiters, take until each has been refused a few times.
func contest(t *testing.T, servers []Limiter, q Quota) (admitted int64) {
	t.Helper()
	var count atomic.Int64
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			l := servers[i%len(servers)]
			for refused := 0; refused < 3; {
				if l.Take(t.Context(), claim(1, q), noon).Admitted {
					count.Add(1)
				} else {
					refused++
				}
			}
		})
	}
	callers.Wait()
	return count.Load()
}

// quotas are the plans on sale and one agreed with an Enterprise customer; in the last the day is the tighter one.
var quotas = []Quota{{60, 1000}, {300, 10_000}, {1000, 100_000}, {12_345, 1_000_000}, {1000, 300}}

func TestExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	for _, q := range quotas {
		limit := min(q.PerMinute, q.PerDay)
		t.Run(fmt.Sprintf("memory/%d", limit), func(t *testing.T) {
			t.Parallel()
			m := NewMemory()
			if got := contest(t, []Limiter{m}, q); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
			check(t, "then", m.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, limit, limit))
		})
		t.Run(fmt.Sprintf("two servers on one redis/%d", limit), func(t *testing.T) {
			t.Parallel()
			url := redistest.Shared(t)
			a, b := newRedis(t, url, patient), newRedis(t, url, patient)
			if got := contest(t, []Limiter{a, b}, q); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
			check(t, "then", b.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, limit, limit))
			for _, l := range []*Redis{a, b} {
				if degraded, _ := l.Degraded(); degraded {
					t.Error("a limiter lost Redis: this test has shown nothing")
				}
			}
		})
	}
}
