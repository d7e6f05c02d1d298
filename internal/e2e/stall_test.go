package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// stallFaults are those of one server's way to Redis.
var stallFaults = []operatorFault{
	{"one of three servers' way to Redis stalls for 120 to 300 ms", func(t *testing.T) faultResult {
		return tryOneWay(t, func(s *stalledWay) {
			for _, d := range []time.Duration{120, 200, 300} {
				s.unmovedBy(d * time.Millisecond)
			}
		})
	}},
	{"one of three servers is cut off from Redis", func(t *testing.T) faultResult {
		return tryOneWay(t, func(s *stalledWay) {
			s.unmovedBy(2 * time.Second)
			s.refuses()
		})
	}},
}

// stalledWay are three servers, of which the last reaches Redis through a way that can be held up.
type stalledWay struct {
	*trial
	way    gate
	result faultResult
}

// holdUp holds the way up for that long.
func (s *stalledWay) holdUp(d time.Duration) {
	s.way.Lock()
	time.Sleep(d) // the way is held up that long
	s.way.Unlock()
}

func (s *stalledWay) number() int64 { return s.deployment.number(`select number from cluster_term`) }

// settle waits until all servers count in Redis by their own way, and returns the term.
func (s *stalledWay) settle() int64 {
	awaitRedis(s.t, "up", s.servers...)
	return s.number()
}

// unmovedBy checks that the others stay in their term while the way is held up, and count in Redis.
// Beside other tests a server may be late with its heartbeat, which begins a term too: there it is
// only logged, and the simulation holds it.
func (s *stalledWay) unmovedBy(d time.Duration) {
	before := s.settle()
	s.holdUp(d)
	degraded := 0.0
	for _, other := range s.servers[:2] {
		degraded += other.Metric("petstore_limits_degraded")
	}
	own := s.servers[2].Ready().Redis
	if after := s.number(); long() && (after != before || degraded != 0) {
		s.t.Errorf(
			"the other servers leave Redis when one does not reach it for %v: term %d, before %d",
			d,
			after,
			before,
		)
	}
	s.t.Logf(
		"after %v: term %d, before %d; %v servers without Redis; that server's Redis is %s",
		d,
		s.number(),
		before,
		degraded,
		own,
	)
}

// refuses checks that a server that alone can't reach Redis is not ready, and that the others stay
// in their term, for as long as it lasts.
func (s *stalledWay) refuses() {
	before := s.settle()
	s.way.Lock()
	wait.Until(s.t, "a server that is cut off", func() bool {
		r := s.servers[2].Ready()
		return r.Redis == "cut_off" && r.Status == "unavailable"
	})
	time.Sleep(6 * time.Second) // longer than others may come back
	if r := s.servers[0].Ready(); long() && (s.number() != before || r.Redis != "up") {
		s.t.Errorf("term %d, before %d; Redis of another server is %s", s.number(), before, r.Redis)
	}
	s.way.Unlock()
	s.settle()
}

// tryOneWay sends light load to all servers, with a tenant that has room and one that has not,
// while the fault happens.
func tryOneWay(t *testing.T, fault func(*stalledWay)) faultResult {
	t.Helper()
	redis := redistest.New(t)
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	d.client.http.Timeout = 10 * time.Second
	s := &stalledWay{trial: &trial{deployment: d}}
	behind := "PETSTORE_REDIS_URL=redis://" + storetest.Proxy(t, "tcp", redis.Addr, s.way.relay) + "/0"
	// The others' calls take longer beside other tests, which is not what is tried.
	s.servers = append(d.serveAll(2, patientRedis), d.serve(behind))
	const limit = 600
	roomy := d.tenant(plans.Enterprise, hugeQuota, 2)
	full := d.freshTenant(plans.Enterprise, &plans.Quota{PerMinute: limit, PerDay: 100_000}, 2)
	for _, one := range s.servers {
		get(s.client.http, one.URL+"/pets?limit=1", roomy.keys[0].token)
	}
	load := func(tn *tenant, pause time.Duration) func() []response {
		return startLoad(len(s.servers), func(caller, _ int) response {
			time.Sleep(pause) // a caller's own work
			a := get(s.client.http, s.servers[caller].URL+"/pets?limit=1", tn.keys[0].token)
			if a.status == http.StatusServiceUnavailable && caller == 2 {
				a = get(s.client.http, s.servers[0].URL+"/pets?limit=1", tn.keys[0].token) // as a balancer sends it
			}
			return a
		})
	}
	stopRoomy, stopFull := load(roomy, 10*time.Millisecond), load(full, 20*time.Millisecond)
	time.Sleep(500 * time.Millisecond) // the load before and after the fault
	fault(s)
	time.Sleep(500 * time.Millisecond) // the load before and after the fault
	s.result.measure(t, stopRoomy(), stopFull(), limit)
	return s.result
}

// measure adds what the callers of a tenant with room met, and of one without.
func (r *faultResult) measure(t *testing.T, roomy, full []response, limit int64) {
	t.Helper()
	undecided := 0
	for _, a := range append(roomy, full...) {
		switch {
		// On a busy machine a change of terms may take longer than a request waits for it.
		case a.code == "unavailable" && !long() && a.took() >= termWait:
			undecided++
		case a.status >= http.StatusInternalServerError, a.err != nil:
			r.failed++
		}
		r.slowest = max(r.slowest, a.took())
	}
	for _, a := range roomy {
		if a.status == http.StatusTooManyRequests {
			r.refused++
		}
	}
	// By minutes of the other tenant, whose ends are known to the second.
	admittedIn := map[time.Duration]int64{}
	for _, a := range full {
		if a.status < http.StatusBadRequest && a.err == nil {
			admittedIn[a.windows["minute"].reset.Sub(full[0].windows["minute"].reset).Round(time.Minute)]++
		}
	}
	for _, n := range admittedIn {
		r.over = max(r.over, n-limit)
	}
	assert.True(t, r.over <= 0, r.over, "admitted over the limit")
	unserved := r.failed
	if few := len(roomy) / 50; r.refused > few || undecided > few {
		unserved += r.refused + undecided
	}
	checkServed(
		t,
		unserved,
		len(roomy),
		"of %d requests below the limit %d were refused, %d undecided; %d failed",
		len(roomy),
		r.refused,
		undecided,
		r.failed,
	)
}
