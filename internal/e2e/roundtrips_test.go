package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// proxiedServer is a server with a proxy before its Redis and its Postgres.
type proxiedServer struct {
	*server
	*deployment
	redis, postgres *roundTrips
}

func newProxiedServer(t *testing.T, redisAddr string, env ...string) *proxiedServer {
	t.Helper()
	m := &proxiedServer{redis: &roundTrips{}, postgres: &roundTrips{}}
	database, redisURL := storetest.New(t), ""
	databaseURL := storetest.ProxyURL(t, database.APIURL, m.postgres.relay)
	if redisAddr != "" {
		redisURL = "redis://" + storetest.Proxy(t, "tcp", redisAddr, m.redis.relay) + "/0"
	}
	m.deployment = newDeploymentOn(t, database.URL, redisURL)
	// A busy machine can stall for longer than the default timeout.
	m.server = m.serve(append(env, "PETSTORE_DATABASE_URL="+databaseURL, "PETSTORE_REDIS_TIMEOUT=5s")...)
	return m
}

// trips are round trips to Redis and to Postgres.
type trips struct{ redis, postgres int64 }

// count sends requests one after the other and returns how many of them took each number of round
// trips.
func (m *proxiedServer) count(t *testing.T, status int, token, path func(int) string) map[trips]int {
	t.Helper()
	const unmeasured, measured = 20, 100
	counts := map[trips]int{}
	for i := range unmeasured + measured {
		before := trips{m.redis.Load(), m.postgres.Load()}
		a := m.patient.get(m.server, token(i), path(i))
		if i < unmeasured {
			continue
		}
		if a.status != status {
			t.Fatalf("want %d: %v", status, a)
		}
		counts[trips{m.redis.Load() - before.redis, m.postgres.Load() - before.postgres}]++
	}
	return counts
}

// TestRoundTripsOfARequest: an admitted request takes one round trip to Redis. A denied one takes
// none after the first, and one with a banned key takes none. Usage, refusals and strikes are
// written in the background, so requests during which they are take more: what none is below is
// what a request takes. With a processor free it is what most take.
func TestRoundTripsOfARequest(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s, sole := newProxiedServer(t, redis.Addr), newProxiedServer(t, "")
	free := func(s *proxiedServer) func(int) string {
		return one(s.tenant(plans.Enterprise, hugeQuota, 1).keys[0].token)
	}
	small := s.freshTenant(plans.Enterprise, &plans.Quota{PerMinute: 3, PerDay: 100_000}, 10)
	banned := s.tenant(plans.Enterprise, hugeQuota, 1).keys[0]
	s.ctl("ban", "place", banned.id, "--for", "1h", "--reason", "test")
	fresh := func(i int) string { return fmt.Sprintf("/pets?cursor=%016x", i+1) }

	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "request\tRedis\tPostgres\tof 100")
	show := func(name string, s *proxiedServer, status int, token, path func(int) string, want trips) {
		counts := s.count(t, status, token, path)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\n", name, want.redis, want.postgres, counts[want])
		for other, n := range counts {
			if counts[want] == 0 || other.redis < want.redis || other.postgres < want.postgres ||
				long() && other != want && n >= counts[want] {
				t.Errorf("%s: want %+v at least and within most, were %+v", name, want, counts)
			}
		}
	}
	show("admitted, one animal", s, 404, free(s), one("/pets/1"), trips{1, 1})
	show("admitted, another list each time", s, 200, free(s), fresh, trips{1, 1})
	show("admitted, the same list", s, 200, free(s), one("/pets"), trips{1, 0})
	show("refused", s, 429, func(i int) string { return small.keys[i%10].token }, one("/pets"), trips{0, 0})
	show("banned", s, 429, one(banned.token), one("/pets"), trips{0, 0})
	show("no Redis: admitted, one animal", sole, 404, free(sole), one("/pets/1"), trips{0, 1})
	show("no Redis: admitted, the same list", sole, 200, free(sole), one("/pets"), trips{0, 0})
	redis.Stop()
	provoked := free(s)
	wait.Until(t, "a server without Redis", func() bool {
		s.client.get(s.server, provoked(0), "/pets/1")
		return s.Ready().Redis == "down"
	})
	show("Redis down: admitted, one animal", s, 404, free(s), one("/pets/1"), trips{0, 1})
	show("Redis down: refused", s, 429, func(i int) string { return small.keys[i%10].token }, one("/pets"), trips{0, 0})
	_ = out.Flush()
	t.Logf("round trips within a request:\n%s", &b)
}

func one(s string) func(int) string { return func(int) string { return s } }
