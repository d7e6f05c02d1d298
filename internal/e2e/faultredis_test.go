package e2e_test

import (
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

var redisFaults = []operatorFault{
	{"Redis evicts counters", tryEviction},
	{"an upgrade to another layout, and back", tryLayouts},
	{"Sentinel fails a master over", trySentinel},
}

// lightTrial is a trial with a lighter load on that many servers, which begins at once.
func lightTrial(t *testing.T, redisURL string, servers int, specs ...spec) *trial {
	t.Helper()
	d := newDeploymentOn(t, storetest.New(t).URL, redisURL)
	d.avoidMidnight()
	tr := &trial{deployment: d, pause: 25 * time.Millisecond}
	tr.servers = d.serveAll(servers)
	awaitRedis(t, "up", tr.servers...)
	tr.begin = time.Now()
	for i := range specs {
		specs[i].ends = seconds(float64(3 + 2*i))
	}
	tr.demand(specs...)
	tr.begin = time.Now()
	return tr
}

// result is what customers met in the trial.
func (tr *trial) result() (r faultResult) {
	counts := tr.counts()
	for w, n := range counts {
		if n.admitted > n.limit {
			tr.t.Errorf("%d admitted in a %s, over the limit of %d", n.admitted, w.what, n.limit)
			r.over += n.admitted - n.limit
		}
	}
	answers := map[string]int{}
	for _, a := range tr.records {
		answers[strconv.Itoa(a.status)+" "+a.code]++
		r.slowest = max(r.slowest, a.took)
		switch {
		case a.status == 0 || a.status >= 500:
			r.failed++
		case a.status == http.StatusTooManyRequests && !tr.full(counts, a):
			r.refused++
		}
	}
	tr.t.Logf("responses: %v", answers)
	if answers["200 "] < 100 {
		tr.t.Errorf("%d requests were admitted: this test has shown nothing", answers["200 "])
	}
	return r
}

// full reports whether one of a request's windows was used up in the end.
func (tr *trial) full(counts map[window]*count, a record) bool {
	return counts[window{a.demand, "minute", a.minute}].full() ||
		counts[window{a.demand, "day", midnight(a.minute)}].full() ||
		a.key == 0 && tr.demands[a.demand].ofKey > 0 && counts[window{a.demand, "key", a.minute}].full()
}

// ofRedis sends a command to a Redis server.
func ofRedis(t *testing.T, addr string, args ...any) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, DisableIdentity: true, MaxRetries: -1})
	defer c.Close()
	said, err := c.Do(t.Context(), args...).Text()
	assert.NoError(t, err, args)
	return said
}

// tryEviction has Redis evict counters, under every policy.
func tryEviction(t *testing.T) faultResult {
	server := redistest.New(t)
	tr := lightTrial(t, server.URL, 2,
		spec{plan: plans.Enterprise, own: enterprise(400, 100_000), ofKey: 20, callers: []int{0, 1, 0}},
		spec{plan: plans.Enterprise, own: enterprise(2000, 100_000), ofKey: 100, callers: []int{0, 1}},
	)
	c := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 1, DisableIdentity: true, MaxRetries: -1})
	defer c.Close()
	every := seconds(0.8)
	if long() {
		every = seconds(10)
	}
	stats := func(name string) int {
		text, _, _ := strings.Cut(strings.SplitN(ofRedis(t, server.Addr, "INFO", "all"), "\n"+name+":", 2)[1], "\r")
		n, _ := strconv.Atoi(text)
		return n
	}
	var phases []phase
	for i, policy := range []string{
		"volatile-ttl", "volatile-lru", "volatile-lfu", "volatile-random", "allkeys-lru", "allkeys-lfu",
		"allkeys-random", "noeviction",
	} {
		phases = append(phases, phase{name: policy, from: every * time.Duration(i), do: func() {
			ofRedis(t, server.Addr, "CONFIG", "SET", "maxmemory-policy", policy)
			before := stats("evicted_keys")
			ofRedis(t, server.Addr, "CONFIG", "SET", "maxmemory", strconv.Itoa(stats("used_memory")+100_000))
			wait.Until(
				t,
				"evicted keys under "+policy,
				func() bool { return policy == "noeviction" || stats("evicted_keys") >= before+20 },
			)
		}})
	}
	stop := startLoad(1, func(_, n int) response {
		// It is refused if nothing can be evicted.
		_ = c.Set(t.Context(), "other:"+strconv.Itoa(n), strings.Repeat("x", 1000), time.Hour).Err()
		time.Sleep(time.Millisecond) // a client's own work
		return response{}
	})
	tr.run(every*time.Duration(len(phases)), phases...)
	stop()
	return tr.result()
}

// tryLayouts replaces three servers one after the other by those of a program with another layout
// in Redis, and then replaces them back.
func tryLayouts(t *testing.T) faultResult {
	next := planted(t)
	tr := lightTrial(t, redistest.New(t).URL, 3,
		spec{plan: plans.Enterprise, own: enterprise(500, 100_000), ofKey: 30, callers: []int{0, 1, 2}},
		spec{plan: plans.Enterprise, own: enterprise(1500, 100_000), callers: []int{2, 1, 0}},
		spec{plan: plans.Pro, callers: []int{0, 1, 2}},
	)
	first := tr.petstore
	every := seconds(1)
	if long() {
		every = seconds(15)
	}
	var phases []phase
	for i := range 6 {
		program, name := next, "upgraded "
		if i >= 3 {
			program, name = first, "back "
		}
		phases = append(phases, phase{name: name + strconv.Itoa(i%3), from: every * time.Duration(i), do: func() {
			tr.petstore = program
			by, last := tr.launch("TEST_LAYOUT=other"), tr.server(i%3)
			tr.replace(i%3, by)
			assert.Equal(t, last.Stop(syscall.SIGTERM), 0, "a server stopped with exit code")
			tr.checkMode(i)
		}})
	}
	tr.run(every*7, phases...)
	return tr.result()
}

// checkMode checks that servers of two layouts count in Postgres, and servers of one in Redis.
func (tr *trial) checkMode(i int) {
	tr.t.Helper()
	want := "down"
	if i%3 == 2 {
		want = "up"
	}
	awaitRedis(tr.t, want, tr.servers...)
}

// trySentinel kills a master, so that its replica takes over, and then has that one give back.
func trySentinel(t *testing.T) faultResult {
	s := redistest.NewSentinels(t)
	master, replica := s.Nodes[0], s.Nodes[1]
	tr := lightTrial(t, s.URL, 2,
		spec{plan: plans.Enterprise, own: enterprise(500, 100_000), ofKey: 30, callers: []int{0, 1, 0}},
		spec{plan: plans.Enterprise, own: enterprise(1500, 100_000), callers: []int{1, 0, 1}},
		spec{plan: plans.Pro, callers: []int{0, 1}},
	)
	counted := func() { awaitRedis(t, "up", tr.servers...) }
	at, end := []float64{1, 2, 4}, seconds(7)
	if long() {
		at, end = []float64{20, 60, 100}, 3*time.Minute
	}
	tr.run(
		end,
		phase{
			name: "master killed",
			from: seconds(at[0]),
			do:   func() { master.Stop(); s.AwaitMaster(replica); counted() },
		},
		phase{name: "back as a replica", from: seconds(at[1]), do: func() { master.Start(); s.AwaitReplica(master) }},
		phase{
			name: "switched over",
			from: seconds(at[2]),
			do:   func() { s.Failover(master); s.AwaitReplica(replica); counted() },
		},
	)
	if used, _, _ := strings.Cut(
		ofRedis(t, master.Addr, "INFO", "keyspace"),
		",",
	); !strings.Contains(
		used,
		"db0:keys=",
	) {
		t.Errorf("the master has no counters: %s: this test has shown nothing", used)
	}
	return tr.result()
}
