package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/plans"
)

const callers = 64

// TestExactness: 64 callers of one tenant with two keys, on two servers that share Redis, and on one that counts in
// memory: admitted is the limit, to the request, and refused requests consume nothing.
func TestExactness(t *testing.T) {
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
				// A busy machine can stop for longer than a server waits for Redis, and without Redis it admits less.
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
				{plans.Enterprise, &plans.Quota{PerMinute: 12_345, PerDay: 100_000}, 12_345},
			} {
				t.Run(plan.name, func(t *testing.T) {
					d.in(t).checkExactness(servers, plan.name, plan.own, plan.limit)
				})
			}
			t.Run("two windows", func(t *testing.T) { d.in(t).checkWindowsTogether(servers) })
		})
	}
}

// checkExactness floods one tenant's minute. The refusals stay below what bans a key.
func (d *deployment) checkExactness(servers []*server, plan string, own *plans.Quota, limit int64) {
	refusals := min(limit, 1000) * 8 / 5
	for attempt := range 2 {
		tn := d.freshTenant(servers[0], plan, own, 2)
		responses := d.burst(servers, tn, int(limit+refusals))
		if end := responses[0].windows["minute"].reset; responses[len(responses)-1].got.After(end) && attempt == 0 {
			d.t.Log("the burst took longer than the minute had left; once more")
			continue
		}
		got := admitted(responses) + tn.used
		last := responses[len(responses)-1]
		dayLeft := tn.Quota.PerDay - last.windows["day"].remaining
		d.t.Logf("%d callers, 2 keys, %d servers, %s: limit %d, admitted %d, %v; used of the day %d",
			callers, len(servers), plan, limit, got, countByCode(responses), dayLeft)
		if got != limit {
			d.t.Errorf("admitted %d, want the limit %d", got, limit)
		}
		if refused := countByCode(responses)["429 rate_limit_exceeded"]; int64(refused) != refusals+tn.used {
			d.t.Errorf("%d refusals by the limit, want all %d others", refused, refusals+tn.used)
		}
		if dayLeft != limit {
			d.t.Errorf("used of the day: %d, want the %d admitted and none of the refused", dayLeft, limit)
		}
		return
	}
}

// burst sends requests of all callers, over all servers and keys.
func (d *deployment) burst(servers []*server, tn *tenant, requests int) []response {
	return sendConcurrently(callers, requests, func(caller, request int) response {
		return d.client.get(servers[caller%len(servers)], tn.keys[request%len(tn.keys)].token, "/pets?limit=1")
	})
}

// checkWindowsTogether raises a tenant's numbers, by petstorectl, after each burst within one minute: what the day refused
// has consumed none of the minute, and the other way round.
func (d *deployment) checkWindowsTogether(servers []*server) {
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
			spent = d.assign(servers, tn, plans.Quota{PerMinute: step.perMinute, PerDay: step.perDay})
		}
		responses := d.burst(servers, tn, 200)
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

// assign gives the tenant other numbers, waits until every server has them, and returns how many requests that took
// which were admitted.
func (d *deployment) assign(servers []*server, tn *tenant, q plans.Quota) (spent int64) {
	d.t.Helper()
	d.ctl("plan", "assign", tn.Name, plans.Enterprise,
		"--per-minute", fmt.Sprint(q.PerMinute), "--per-day", fmt.Sprint(q.PerDay))
	want := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, q.PerMinute, q.PerDay)
	for _, s := range servers {
		eventually(d.t, 5*time.Second, "the new numbers", func() bool {
			a := d.client.get(s, tn.keys[0].token, "/pets?limit=1")
			spent += admitted([]response{a})
			return a.header.Get("RateLimit-Policy") == want
		})
	}
	return spent
}
