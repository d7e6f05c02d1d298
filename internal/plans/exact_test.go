package plans

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/plans/redistest"
)

// contest lets 64 callers of one tenant, spread over the servers' limiters, take until each has been refused a few times.
func contest(t *testing.T, servers []Limiter, c Claim) (admitted int64) {
	t.Helper()
	var count atomic.Int64
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			l := servers[i%len(servers)]
			for refused := 0; refused < 3; {
				if l.Take(t.Context(), c, noon).Admitted {
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
			if got := contest(t, []Limiter{m}, claim(1, q)); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
			check(t, "then", m.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, limit, limit))
		})
		t.Run(fmt.Sprintf("two servers on one redis/%d", limit), func(t *testing.T) {
			t.Parallel()
			url, w := redistest.Shared(t), newWorld()
			a, b := w.server(t, url, patient), w.server(t, url, patient)
			decides(t, a, b)
			if got := contest(t, []Limiter{a, b}, claim(1, q)); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
			check(t, "then", b.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, limit, limit))
			if degraded(a) || degraded(b) {
				t.Error("a limiter lost Redis: this test has shown nothing")
			}
		})
		t.Run(fmt.Sprintf("one server on Postgres/%d", limit), func(t *testing.T) {
			t.Parallel()
			l := newWorld().server(t, nowhere, patient)
			if got := contest(t, []Limiter{l}, claim(1, q)); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
			check(t, "then", l.Take(t.Context(), claim(1, q), noon), want(false, 1, q, noon, limit, limit))
		})
	}
}

// Two keys with limits of their own and the tenant's other keys share the tenant's windows, all or nothing.
func TestExactWithKeys(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 100, PerDay: 1000}
		own := func(id string, perMinute int64) Claim {
			return Claim{TenantID: 1, KeyID: id, Quota: q, KeyPerMinute: perMinute}
		}
		if got := contest(t, []Limiter{l}, own("key_a", 30)); got != 30 {
			t.Errorf("key a: %d admitted, want its 30", got)
		}
		if got := contest(t, []Limiter{l}, own("key_b", 20)); got != 20 {
			t.Errorf("key b: %d admitted, want its 20", got)
		}
		if got := contest(t, []Limiter{l}, own("key_c", 80)); got != 50 {
			t.Errorf("key c: %d admitted, want the tenant's remaining 50", got)
		}
		if got := contest(t, []Limiter{l}, claim(1, q)); got != 0 {
			t.Errorf("another key: %d admitted, want none", got)
		}
	})
}

// Keys with limits of their own that wait together go in one script, which reads all of them before it counts the first.
func TestExactWithKeysTogether(t *testing.T) {
	limiters(t, func(t *testing.T, l Limiter) {
		q := Quota{PerMinute: 100, PerDay: 1000}
		var admitted [4]atomic.Int64
		var callers sync.WaitGroup
		for i := range 400 {
			c := claim(1, q)
			if key := i % 4; key > 0 {
				c.KeyID, c.KeyPerMinute = fmt.Sprint("key_", key), int64(10*key)
			}
			callers.Go(func() {
				if l.Take(t.Context(), c, noon).Admitted {
					admitted[i%4].Add(1)
				}
			})
		}
		callers.Wait()
		all := admitted[0].Load()
		for key := 1; key < 4; key++ {
			n := admitted[key].Load()
			all += n
			if n > int64(10*key) {
				t.Errorf("key %d: %d admitted of its %d", key, n, 10*key)
			}
		}
		if all != 100 {
			t.Errorf("%d admitted, want the tenant's 100", all)
		}
	})
}
