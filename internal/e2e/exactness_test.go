package e2e_test

import (
	"fmt"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

const callers = 64

// TestExactness: 64 callers of one tenant with two keys send requests to two servers that share Redis, and to one that counts in memory.
// Exactly the limit is admitted, and denied requests consume nothing.
func TestExactness(t *testing.T) {
	t.Parallel()
	// Beside other tests a burst must not take longer than the minute has left.
	own := &plans.Quota{PerMinute: 2345, PerDay: 100_000}
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
			var servers []*server
			for range where.servers {
				// A busy machine can stall for longer than the default timeout, and without Redis less is admitted.
				servers = append(servers, d.serve("PETSTORE_REDIS_TIMEOUT=5s"))
			}
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
			t.Run("two windows", func(t *testing.T) { checkWindowsTogether(d.in(t), servers) })
		})
	}
}

// checkExactness sends more requests than one minute admits, but not so many that a key is banned.
func checkExactness(d *deployment, servers []*server, plan string, own *plans.Quota, limit int64) {
	refusals := min(limit, 1000) * 8 / 5
	tn := d.freshTenant(servers[0], plan, own, 4)
	responses := burst(d, servers, tn, int(limit+refusals))
	got := admitted(responses) + tn.used
	last := responses[len(responses)-1]
	dayLeft := tn.Quota.PerDay - last.windows["day"].remaining
	d.t.Logf("%d callers, 4 keys, %d servers, %s: limit %d, admitted %d, %v; used of the day %d",
		callers, len(servers), plan, limit, got, countByCode(responses), dayLeft)
	if got != limit {
		d.t.Errorf("admitted %d, want the limit %d", got, limit)
	}
	if refused := countByCode(responses)["429 rate_limit_exceeded"]; int64(refused) != refusals+tn.used {
		d.t.Errorf("%d denied by the limit, want %d", refused, refusals+tn.used)
	}
	if dayLeft != limit {
		d.t.Errorf("used of the day: %d, want the %d admitted and none of the refused", dayLeft, limit)
	}
}

// burst sends requests from all callers, to all servers, with all keys.
func burst(d *deployment, servers []*server, tn *tenant, requests int) []response {
	return sendConcurrently(callers, requests, func(caller, request int) response {
		return d.patient.get(servers[caller%len(servers)], tn.keys[request%len(tn.keys)].token, "/pets?limit=1")
	})
}

// checkWindowsTogether raises a tenant's quota after each burst, all within one minute. Requests that the day denied have consumed
// nothing of the minute, and vice versa.
func checkWindowsTogether(d *deployment, servers []*server) {
	tn := d.freshTenant(servers[0], plans.Enterprise, &plans.Quota{PerMinute: 100, PerDay: 100}, 8)
	total := int64(0)
	for _, step := range []struct {
		perMinute, perDay, admits int64
		code                      string
	}{
		{100, 100, 100, "daily_quota_exceeded"}, // both are full: the day resets later
		{200, 300, 100, "rate_limit_exceeded"},
		{300, 300, 100, "daily_quota_exceeded"},
		{350, 500, 50, "rate_limit_exceeded"},
	} {
		before, spent := total, tn.used
		if total > 0 {
			spent = assignQuota(d, servers, tn, plans.Quota{PerMinute: step.perMinute, PerDay: step.perDay})
		}
		responses := burst(d, servers, tn, 200)
		total += spent + admitted(responses)
		d.t.Logf("%d/min %d/day: admitted %d more, %v", step.perMinute, step.perDay, total-before, countByCode(responses))
		if total-before != step.admits {
			d.t.Errorf("admitted %d, want %d", total-before, step.admits)
		}
		if n := countByCode(responses)["429 "+step.code]; n == 0 || int64(n)+admitted(responses) != 200 {
			d.t.Errorf("%v: want every refusal to be %s", countByCode(responses), step.code)
		}
	}
}

// assignQuota changes the tenant's quota, waits until every server applies it, and returns how many requests were admitted meanwhile.
func assignQuota(d *deployment, servers []*server, tn *tenant, q plans.Quota) (spent int64) {
	d.t.Helper()
	d.ctl("plan", "assign", tn.Name, plans.Enterprise,
		"--per-minute", fmt.Sprint(q.PerMinute), "--per-day", fmt.Sprint(q.PerDay))
	want := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, q.PerMinute, q.PerDay)
	for _, s := range servers {
		wait.Until(d.t, "the new numbers", func() bool {
			a := d.client.get(s, tn.keys[0].token, "/pets?limit=1")
			spent += admitted([]response{a})
			return a.header.Get("RateLimit-Policy") == want
		})
	}
	return spent
}
