package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
)

// newTrial starts three servers. The load begins some seconds later.
func newTrial(t *testing.T, redisURL string, specs ...spec) *trial {
	t.Helper()
	d := newDeploymentOn(t, storetest.New(t).URL, redisURL)
	d.avoidMidnight()
	tr := &trial{deployment: d, pause: 20 * time.Millisecond}
	if long() {
		tr.pause = 8 * time.Millisecond
	}
	tr.servers = d.serveAll(3)
	tr.begin = time.Now().Add(4 * time.Second)
	tr.demand(specs...)
	for time.Until(tr.begin) < 0 {
		// The set-up took longer, on a busy machine.
		tr.begin = tr.begin.Add(time.Minute)
	}
	return tr
}

func enterprise(perMinute, perDay int64) *plans.Quota {
	return &plans.Quota{PerMinute: perMinute, PerDay: perDay}
}

// uneven returns seven tenants whose minutes end that many seconds after the load began.
func uneven(edges ...float64) []spec {
	specs := []spec{
		{plan: plans.Free, callers: []int{2, 2}},
		{plan: plans.Enterprise, own: enterprise(250, 100_000), callers: []int{0, 0, 0, 1}},
		{plan: plans.Enterprise, own: enterprise(400, 100_000), callers: []int{0, 0, 0, 0, 0, 0, 1, 2}},
		{plan: plans.Pro, callers: []int{0, 0, 0, 2}},
		{plan: plans.Enterprise, own: enterprise(350, 100_000), callers: []int{1, 1, 1, 1, 1, 2}},
		{plan: plans.Business, callers: []int{0, 1, 2}},
		{plan: plans.Enterprise, own: enterprise(200, 500), ofKey: 15, callers: []int{1, 1, 0, 2}},
	}
	for i, s := range edges {
		specs[i].ends = seconds(s)
	}
	return specs
}

// tryOneRedis: whatever happens to Redis, no window of any tenant admits more than its limit.
// Windows without a fault admit exactly the limit. No request ends in 5xx.
func tryOneRedis(t *testing.T) *trial {
	t.Helper()
	redis := redistest.New(t)
	at, end := []float64{5, 6.5, 8.5, 10, 12, 15}, 18*time.Second
	if long() {
		at, end = []float64{20, 35, 55, 70, 85, 100}, 3*time.Minute
	}
	// Minutes end without a fault, and soon after each fault begins.
	tr := newTrial(t, redis.URL, uneven(3.5, 4.5, at[0]+1, at[2]+1, at[4]+0.7, at[5]+0.5, at[0]+1.5)...)
	phases := []phase{
		{name: "healthy", healthy: true},
		{name: "killed", from: seconds(at[0]), do: redis.Stop},
		{name: "started, empty", from: seconds(at[1]), do: redis.Start},
		{name: "paused", from: seconds(at[2]), do: redis.Pause},
		{name: "resumed", from: seconds(at[3]), do: redis.Resume},
		{name: "flushed", from: seconds(at[4]), do: redis.Flush},
		{name: "restarted at once", from: seconds(at[5]), do: func() { redis.Stop(); redis.Start() }},
	}
	if long() {
		phases = append(phases, phase{name: "healthy again", from: seconds(at[5] + 20), healthy: true})
	}
	tr.run(end, phases...)
	return tr
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
