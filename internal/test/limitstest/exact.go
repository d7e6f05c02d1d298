package limitstest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// Contest lets 64 callers of one tenant take from the servers' limiters, until each was refused a
// few times.
func Contest(t *testing.T, servers []limits.Limiter, c limits.Claim) (admitted int64) {
	t.Helper()
	var count atomic.Int64
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			l := servers[i%len(servers)]
			for refused := 0; refused < 3; {
				if l.Take(t.Context(), c, Noon).Admitted {
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

// Quotas are three of plans on sale, one as agreed for Enterprise, and one whose day is the tighter
// limit.
var Quotas = []plans.Quota{
	{PerMinute: 60, PerDay: 1000}, {PerMinute: 300, PerDay: 10_000}, {PerMinute: 1000, PerDay: 100_000},
	{PerMinute: 12_345, PerDay: 1_000_000}, {PerMinute: 1000, PerDay: 300},
}

// exactUnderConcurrency: 64 callers get exactly the limit.
func exactUnderConcurrency(t *testing.T, l limits.Limiter) {
	for i, q := range Quotas {
		tenantID, limit := int64(1+i), min(q.PerMinute, q.PerDay)
		assert.Equal(t, Contest(t, []limits.Limiter{l}, Claim(tenantID, q)), limit, "admitted")
		Check(t, "then", l.Take(t.Context(), Claim(tenantID, q), Noon), Want(false, tenantID, q, Noon, limit, limit))
	}
}

// exactWithKeys: two keys with limits of their own and the tenant's other keys share the tenant's
// windows. A request counts in all of its windows or in none.
func exactWithKeys(t *testing.T, l limits.Limiter) {
	q := plans.Quota{PerMinute: 100, PerDay: 1000}
	own := func(id string, perMinute int64) limits.Claim {
		return limits.Claim{TenantID: 1, KeyID: id, Quota: q, KeyPerMinute: perMinute}
	}
	assert.Equal(t, Contest(t, []limits.Limiter{l}, own("key_a", 30)), 30, "key a admitted")
	assert.Equal(t, Contest(t, []limits.Limiter{l}, own("key_b", 20)), 20, "key b admitted")
	assert.Equal(t, Contest(t, []limits.Limiter{l}, own("key_c", 80)), 50, "key c admitted")
	assert.Equal(t, Contest(t, []limits.Limiter{l}, Claim(1, q)), 0, "another key admitted")
}

// exactWithKeysTogether: requests of keys with limits of their own that wait at the same time go in
// one script, which reads all counters before it counts the first request.
func exactWithKeysTogether(t *testing.T, l limits.Limiter) {
	q := plans.Quota{PerMinute: 100, PerDay: 1000}
	var admitted [4]atomic.Int64
	var callers sync.WaitGroup
	for i := range 400 {
		c := Claim(1, q)
		if key := i % 4; key > 0 {
			c.KeyID, c.KeyPerMinute = fmt.Sprint("key_", key), int64(10*key)
		}
		callers.Go(func() {
			if l.Take(t.Context(), c, Noon).Admitted {
				admitted[i%4].Add(1)
			}
		})
	}
	callers.Wait()
	all := admitted[0].Load()
	for key := 1; key < 4; key++ {
		n := admitted[key].Load()
		all += n
		assert.True(t, n <= int64(10*key), "key", key, n, "admitted of its", 10*key)
	}
	assert.Equal(t, all, 100, "admitted")
}
