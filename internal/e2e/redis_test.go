package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestRedisAway: while Redis is away, both servers serve, say that they are degraded, and log it
// once; and that Redis is back, once.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	servers := d.serveAll(2, "PETSTORE_REDIS_TIMEOUT=1s")
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	// Redis may have been lost briefly before.
	before := map[*server]map[string]int{}
	for _, s := range servers {
		awaitRedis(t, "up", s)
		before[s] = map[string]int{
			"limits: degraded":      s.Logged("limits: degraded"),
			"limits: Redis is back": s.Logged("limits: Redis is back"),
		}
	}
	check := func(state, status string, degraded float64, line string) {
		t.Helper()
		for i, s := range servers {
			wait.Until(t, "a server whose Redis is "+state, func() bool {
				d.client.get(s, tn.keys[0].token, "/pets")
				return s.Ready().Redis == state
			})
			if r := s.Ready(); r.HTTP != 200 || r.Status != status {
				t.Errorf("server %d: /readyz %+v", i, r)
			}
			assert.Equal(t, s.Metric("petstore_limits_degraded"), degraded, "server", i, "petstore_limits_degraded")
			a := d.patient.get(s, tn.keys[0].token, "/pets")
			assert.Equal(t, a.status, 200, "server", i, a)
			wait.Until(t, line, func() bool { return s.Logged(line) > before[s][line] })
			assert.Equal(t, s.Logged(line)-before[s][line], 1, "server", i, "lines say", line)
		}
	}
	redis.Stop()
	check("down", "degraded", 1, "limits: degraded")
	redis.Start()
	check("up", "ready", 0, "limits: Redis is back")
}

// TestFarRedis: a Redis that is so far away that connecting takes longer than a reply may decides,
// also for calls at the same time.
func TestFarRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	var far way
	far.delay.Store(int64(140 * time.Millisecond))
	s := d.serve(
		"PETSTORE_REDIS_TIMEOUT=1s",
		"PETSTORE_REDIS_URL=redis://"+storetest.Proxy(t, "tcp", redis.Addr, far.relay)+"/0",
	)
	awaitRedis(t, "up", s)
	tokens := make([]string, 8)
	for i := range tokens {
		tokens[i] = d.tenant(plans.Free, nil, 1).keys[0].token
	}
	lists := sendAtOnce(len(tokens), func(i int) response { return d.patient.get(s, tokens[i], "/pets") })
	assert.Equal(t, countByCode(lists)["200"], len(lists), lists)
	assert.True(t, s.Logged("lost Redis") == 0 || !long(), "Redis is lost")
}
