package distributed_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// evictionPolicies are all that Redis has.
var evictionPolicies = []string{
	"noeviction",
	"allkeys-lru",
	"allkeys-lfu",
	"allkeys-random",
	"volatile-lru",
	"volatile-lfu",
	"volatile-random",
	"volatile-ttl",
}

// TestEviction: whatever Redis evicts under pressure, no window admits more than its limit, a key's
// own included.
func TestEviction(t *testing.T) {
	t.Parallel()
	for _, policy := range evictionPolicies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server, w := redistest.New(t), newTestCluster()
			a, b := w.two(t, server.URL, quick)
			admin := look(t, server.URL)
			squeeze := squeezed(t, admin, policy)
			const tenants = 4
			limit := plans.Quota{PerMinute: 60, PerDay: 1000}
			// Of the minute after the one in which the tenants were initialized.
			now := limitstest.Noon
			var admitted [1 + tenants]struct{ all, key int64 }
			for round := range 30 {
				for id := int64(1); id <= tenants; id++ {
					c := limitstest.Claim(id, limit)
					if round == 0 {
						a.Take(t.Context(), c, now.Add(-time.Minute))
					}
					for i, l := range []limits.Limiter{a, b, a} {
						c.KeyID, c.KeyPerMinute = "", 0
						if i < 2 {
							c.KeyID, c.KeyPerMinute = "key_1", 20
						}
						if l.Take(t.Context(), c, now).Admitted {
							admitted[id].all++
							admitted[id].key += min(1, c.KeyPerMinute)
						}
					}
				}
				squeeze()
			}
			for id, n := range admitted[1:] {
				assert.True(
					t,
					n.all <= limit.PerMinute && n.key <= 20,
					"tenant",
					id+1,
					n.all,
					"admitted of",
					limit.PerMinute,
					n.key,
					"of them by the key with limit 20",
				)
			}
			evicted := infoNumber(t, admin, "evicted_keys:")
			term, _ := a.member.Term()
			t.Logf("admitted %v, %d keys evicted, term %d", admitted[1:], evicted, term.Number)
			assert.Equal(t, evicted == 0, policy == "noeviction", evicted, "keys evicted: this test has shown nothing")
		})
	}
}

// squeezed sets a policy and leaves Redis little memory. It returns what fills that.
func squeezed(t *testing.T, admin redis.UniversalClient, policy string) (fill func()) {
	t.Helper()
	set := func(name, value string) {
		t.Helper()
		assert.NoError(t, admin.ConfigSet(t.Context(), name, value).Err())
	}
	set("maxmemory-policy", policy)
	set("maxmemory-samples", "64")
	set("maxmemory", strconv.FormatInt(infoNumber(t, admin, "used_memory:")+150_000, 10))
	n := 0
	return func() {
		t.Helper()
		for range 60 {
			n++
			// It is refused if nothing can be evicted.
			_ = admin.Set(t.Context(), "other:"+strconv.Itoa(n), strings.Repeat("x", 1000), time.Hour).Err()
		}
	}
}

// infoNumber returns a number of Redis' INFO.
func infoNumber(t *testing.T, admin redis.UniversalClient, name string) int64 {
	t.Helper()
	info, err := admin.Info(t.Context()).Result()
	assert.NoError(t, err)
	_, rest, _ := strings.Cut(info, "\n"+name)
	value, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.ParseInt(value, 10, 64)
	assert.NoError(t, err)
	return n
}
