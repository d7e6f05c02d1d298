package e2e_test

import (
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

const callers = 64

// TestExactness: 64 callers of one tenant with two keys send requests to two servers that share
// Redis, and to one that counts in memory. Exactly the limit is admitted, and denied requests
// consume nothing.
func TestExactness(t *testing.T) {
	t.Parallel()
	// Beside other tests a burst must not take longer than the minute has left.
	own := &plans.Quota{PerMinute: 1234, PerDay: 100_000}
	if long() {
		own.PerMinute = 12_345
	}
	for _, where := range []struct {
		name    string
		redis   bool
		servers int
	}{{"redis", true, 2}, {"memory", false, 1}} {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, where.redis)
			servers := d.serveAll(where.servers, patientRedis)
			for _, plan := range []struct {
				name  string
				own   *plans.Quota
				limit int64
			}{
				{plans.Free, nil, 60},
				{plans.Pro, nil, 300},
				{plans.Business, nil, 1000},
				{plans.Enterprise, own, own.PerMinute},
			} {
				t.Run(plan.name, func(t *testing.T) {
					checkExactness(d.in(t), servers, plan.name, plan.own, plan.limit)
				})
			}
		})
	}
}

// checkExactness sends more requests than one minute admits, but not so many that a key is banned.
func checkExactness(d *deployment, servers []*server, plan string, own *plans.Quota, limit int64) {
	refusals := min(limit, 1000) * 8 / 5
	tn := d.freshTenant(plan, own, 4)
	responses := burst(d, servers, tn, int(limit+refusals))
	got := admitted(responses)
	last := responses[len(responses)-1]
	dayLeft := tn.Quota.PerDay - last.windows["day"].remaining
	d.t.Logf("%d callers, 4 keys, %d servers, %s: limit %d, admitted %d, %v; used of the day %d",
		callers, len(servers), plan, limit, got, countByCode(responses), dayLeft)
	assert.Equal(d.t, got, limit, "admitted")
	refused := countByCode(responses)["429 rate_limit_exceeded"]
	assert.Equal(d.t, int64(refused), refusals, refused, "denied by the limit")
	assert.Equal(d.t, dayLeft, limit, "used of the day, which counts the admitted and none of the refused")
}

// burst sends requests from all callers, to all servers, with all keys.
func burst(d *deployment, servers []*server, tn *tenant, requests int) []response {
	return sendConcurrently(callers, requests, func(caller, request int) response {
		return d.patient.get(servers[caller%len(servers)], tn.keys[request%len(tn.keys)].token, "/pets?limit=1")
	})
}
