package e2e_test

import (
	"slices"
	"testing"
	"time"

	"petstore.example/internal/limits/redisbackend/redistest"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
	"petstore.example/internal/test/wait"
)

// TestRedisAway stops and pauses Redis under load. Requests succeed, the first within 150 ms and the others as fast as before. Both
// servers report degraded, together they admit no more than the limit, and they recover when Redis is back.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	// Beside other tests a call to Redis may take longer than the default.
	timeout := "PETSTORE_REDIS_TIMEOUT=1s"
	if long() {
		timeout = "PETSTORE_REDIS_TIMEOUT=100ms"
	}
	for _, how := range []struct {
		name        string
		stop, start func(*redistest.Server)
	}{
		{"stopped", (*redistest.Server).Stop, (*redistest.Server).Start},
		{"paused", (*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.New(t)
			d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
			servers := []*server{d.serve(timeout), d.serve(timeout)}
			limited := d.freshTenant(servers[0], plans.Enterprise, &plans.Quota{PerMinute: 600, PerDay: 100_000}, 4)
			free := d.tenant(plans.Enterprise, hugeQuota, 1)
			before := burst(d, servers, limited, 200)
			stop := startLoad(4, func(caller, _ int) response {
				time.Sleep(2 * time.Millisecond) // a caller's own work
				return d.client.get(servers[caller%2], free.keys[0].token, "/pets?limit=5")
			})
			time.Sleep(time.Second) // the load before the fault

			// Redis may have been lost briefly before.
			var lines [2]struct{ degraded, back int }
			for i, s := range servers {
				wait.Until(t, "a server that has Redis", func() bool { return s.ready().Redis == "up" })
				lines[i].degraded, lines[i].back = s.logged("limits: degraded"), s.logged("limits: Redis is back")
			}
			how.stop(redis)
			down := time.Now()
			for i, s := range servers {
				wait.Until(t, "a degraded server", func() bool { return s.ready().Redis == "down" })
				if r := s.ready(); r.HTTP != 200 || r.Status != "degraded" {
					t.Errorf("server %d: /readyz %+v", i, r)
				}
				if v := s.metric("petstore_limits_degraded"); v != 1 {
					t.Errorf("server %d: petstore_limits_degraded %v, want 1", i, v)
				}
			}
			during := burst(d, servers, limited, 1000)
			time.Sleep(time.Second) // Redis is away that long

			how.start(redis)
			up := time.Now()
			for i, s := range servers {
				wait.Until(t, "a server that has Redis again", func() bool { return s.ready().Redis == "up" })
				if v := s.metric("petstore_limits_degraded"); v != 0 {
					t.Errorf("server %d: petstore_limits_degraded %v, want 0", i, v)
				}
				wait.Until(t, "a line that Redis is back", func() bool {
					return s.logged("limits: Redis is back") > lines[i].back
				})
				if n := s.logged("limits: degraded") - lines[i].degraded; n != 1 {
					t.Errorf("server %d: %d lines say that limits are degraded, want 1", i, n)
				}
				if n := s.logged("limits: Redis is back") - lines[i].back; n != 1 {
					t.Errorf("server %d: %d lines say that Redis is back, want 1", i, n)
				}
			}
			back := time.Since(up)
			after := burst(d, servers, limited, 200)
			checkLatencies(t, stop(), down, up)
			total := limited.used + admitted(before) + admitted(during) + admitted(after)
			t.Logf("limit 600 on two servers: admitted %d with Redis, %d without, %d after it was back (%v): %d",
				admitted(before)+limited.used, admitted(during), admitted(after), back.Round(time.Millisecond), total)
			if total > 600 {
				t.Errorf("admitted %d in one minute, more than 600: %v, %v, %v", total, countByCode(before), countByCode(during), countByCode(after))
			}
			if admitted(during) == 0 {
				t.Error("nothing was admitted without Redis although there was room")
			}
		})
	}
}

// checkLatencies compares the latencies before and after the loss of Redis.
func checkLatencies(t *testing.T, responses []response, down, up time.Time) {
	t.Helper()
	took := func(from, to time.Time) (all []time.Duration) {
		for _, a := range between(responses, from, to) {
			all = append(all, a.took())
		}
		return all
	}
	n := countByCode(responses)
	checkServed(t, len(responses)-n["200"], len(responses), "responses before, while and after Redis was down: %v, want only 200", n)
	before := took(time.Time{}, down.Add(-500*time.Millisecond))
	first := took(down.Add(-500*time.Millisecond), down.Add(300*time.Millisecond))
	later := took(down.Add(300*time.Millisecond), up)
	t.Logf("before %s; around the loss %s; after it %s", percentiles(before), percentiles(first), percentiles(later))
	most, times := 10*time.Second, time.Duration(20) // beside other tests
	if long() {
		most, times = 150*time.Millisecond, 2
	}
	if slowest := slices.Max(append(first, 0)); slowest > most {
		t.Errorf("a request took %v when Redis went down, want %v at most", slowest, most)
	}
	if b, l := percentile(before, 50), percentile(later, 50); l > times*(b+3*time.Millisecond) {
		t.Errorf("half of the requests without Redis take more than %v, before it was %v", l, b)
	}
}
