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
			h := newHouse(t, where.redis)
			var servers []*server
			for range where.servers {
				// A busy machine can stop for longer than a server waits for Redis, and without Redis it admits less.
				servers = append(servers, h.serve("PETSTORE_REDIS_TIMEOUT=5s"))
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
					h.in(t).showExactness(servers, plan.name, plan.own, plan.limit)
				})
			}
			t.Run("two windows", func(t *testing.T) { h.in(t).showWindowsTogether(servers) })
		})
	}
}

// showExactness floods one tenant's minute. The refusals stay below what bans a key.
func (h *house) showExactness(servers []*server, plan string, own *plans.Quota, limit int64) {
	refusals := min(limit, 1000) * 8 / 5
	for attempt := range 2 {
		tn := h.freshTenant(servers[0], plan, own, 2)
		answers := h.flood(servers, tn, int(limit+refusals))
		if end := answers[0].windows["minute"].reset; answers[len(answers)-1].got.After(end) && attempt == 0 {
			h.t.Log("the flood took longer than the minute had left; once more")
			continue
		}
		got := admitted(answers) + tn.used
		last := answers[len(answers)-1]
		dayLeft := tn.Quota.PerDay - last.windows["day"].remaining
		h.t.Logf("%d callers, 2 keys, %d servers, %s: limit %d, admitted %d, %v; used of the day %d",
			callers, len(servers), plan, limit, got, tally(answers), dayLeft)
		if got != limit {
			h.t.Errorf("admitted %d, want the limit %d", got, limit)
		}
		if refused := tally(answers)["429 rate_limit_exceeded"]; int64(refused) != refusals+tn.used {
			h.t.Errorf("%d refusals by the limit, want all %d others", refused, refusals+tn.used)
		}
		if dayLeft != limit {
			h.t.Errorf("used of the day: %d, want the %d admitted and none of the refused", dayLeft, limit)
		}
		return
	}
}

// flood sends requests of all callers, over all servers and keys.
func (h *house) flood(servers []*server, tn *tenant, requests int) []answer {
	return crowd(callers, requests, func(caller, request int) answer {
		return h.client.get(servers[caller%len(servers)], tn.keys[request%len(tn.keys)].token, "/pets?limit=1")
	})
}

// showWindowsTogether raises a tenant's numbers, by petstorectl, after each flood within one minute: what the day refused
// has consumed none of the minute, and the other way round.
func (h *house) showWindowsTogether(servers []*server) {
	tn := h.freshTenant(servers[0], plans.Enterprise, &plans.Quota{PerMinute: 100, PerDay: 100}, 8)
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
			spent = h.assign(servers, tn, plans.Quota{PerMinute: step.perMinute, PerDay: step.perDay})
		}
		answers := h.flood(servers, tn, 200)
		total += spent + admitted(answers)
		h.t.Logf("%d/min %d/day: admitted %d more, %v", step.perMinute, step.perDay, total-before, tally(answers))
		if total-before != step.admits {
			h.t.Errorf("admitted %d, want %d", total-before, step.admits)
		}
		if n := tally(answers)["429 "+step.code]; n == 0 || int64(n)+admitted(answers) != 200 {
			h.t.Errorf("%v: want every refusal to be %s", tally(answers), step.code)
		}
	}
}

// assign gives the tenant other numbers, waits until every server has them, and returns how many requests that took
// which were admitted.
func (h *house) assign(servers []*server, tn *tenant, q plans.Quota) (spent int64) {
	h.t.Helper()
	h.ctl("plan", "assign", tn.Name, plans.Enterprise,
		"--per-minute", fmt.Sprint(q.PerMinute), "--per-day", fmt.Sprint(q.PerDay))
	want := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, q.PerMinute, q.PerDay)
	for _, s := range servers {
		eventually(h.t, 5*time.Second, "the new numbers", func() bool {
			a := h.client.get(s, tn.keys[0].token, "/pets?limit=1")
			spent += admitted([]answer{a})
			return a.header.Get("RateLimit-Policy") == want
		})
	}
	return spent
}
