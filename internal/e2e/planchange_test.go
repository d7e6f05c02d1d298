package e2e_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	petstore "petstore.example/client"
	"petstore.example/internal/limits/redisbackend/redistest"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
	"petstore.example/internal/test/wait"
)

// planTrial is a tenant that has four quotas within seconds: its own, a plan from an instant on, another version of that plan, and less
// than it has used.
type planTrial struct {
	*deployment
	servers []*server
	tn      *tenant
	// quotas are the requests per minute, and instants when each but the first comes into force.
	quotas   []int64
	instants []time.Time

	mu        sync.Mutex
	responses [][]response // by server
}

// TestPlanChangesAtItsInstant: at the instant of a change that was scheduled, each of three servers goes over to the next quota by itself,
// and together they admit exactly what each quota has room for. Every request is recorded under the assignment and version that decided
// it, though all are in one minute.
func TestPlanChangesAtItsInstant(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"redis": false, "redis lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.New(t)
			d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
			tr := &planTrial{deployment: d, quotas: []int64{600, 800, 1000, 700}, responses: make([][]response, 3)}
			for range tr.responses {
				tr.servers = append(tr.servers, d.serve("PETSTORE_REDIS_TIMEOUT=1s"))
			}
			if lost {
				redis.Stop()
				other := d.tenant(plans.Free, nil, 1)
				for _, s := range tr.servers {
					wait.Until(t, "a server without Redis", func() bool {
						d.client.get(s, other.keys[0].token, "/pets")
						return s.ready().Redis == "down"
					})
				}
			}
			tr.schedule()
			tr.checkNextChange(&petstore.PlanChange{
				At: tr.instants[0], Plan: "gold", Quota: petstore.Quota{PerMinute: tr.quotas[1], PerDay: 100_000},
			})
			tr.send()
			tr.checkNextChange(nil)
			tr.checkInstants()
			tr.checkCounts(lost)
			tr.checkPriceList()
		})
	}
}

// checkPriceList: a plan's new number is in GET /v1/plans of each server at once.
func (tr *planTrial) checkPriceList() {
	tr.t.Helper()
	tr.exec(`insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('pro', 2, 1, now(), 400, 10000)`)
	for i, s := range tr.servers {
		got := tr.client.get(s, "", "/plans")
		if got.status != 200 || !strings.Contains(string(got.body), `{"name":"pro","requestsPerMinute":400,"requestsPerDay":10000}`) {
			tr.t.Errorf("server %d: %d %s", i, got.status, got.body)
		}
	}
}

// schedule makes the tenant, and all changes of its quota before the first request of the trial.
func (tr *planTrial) schedule() {
	tr.t.Helper()
	tr.tn = tr.tenantWithin(tr.servers[0], plans.Enterprise, enterprise(tr.quotas[0], 100_000), 10, 30*time.Second, 60*time.Second)
	tr.exec(`insert into plans (name, per_minute, per_day) values ('gold', $1, 100000)`, tr.quotas[1])
	begin := time.Now().Truncate(time.Microsecond)
	for _, after := range []time.Duration{10 * time.Second, 11 * time.Second, 12 * time.Second} {
		tr.instants = append(tr.instants, begin.Add(after))
	}
	tr.exec(`insert into tenant_plans (tenant_id, plan, valid_from) values ($1, 'gold', $2)`, tr.tn.ID, tr.instants[0])
	tr.exec(`insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('gold', 2, 1, $1, $2, 100000)`,
		tr.instants[1], tr.quotas[2])
	tr.exec(`insert into tenant_plans (tenant_id, plan, valid_from, per_minute, per_day) values ($1, 'enterprise', $2, $3, 100000)`,
		tr.tn.ID, tr.instants[2], tr.quotas[3])
}

// checkNextChange checks what GET /v1/usage says of the next change.
func (tr *planTrial) checkNextChange(want *petstore.PlanChange) {
	tr.t.Helper()
	for i, s := range tr.servers {
		store := tr.store(s, tr.tn.keys[0].token)
		wait.Until(tr.t, "the next change in GET /v1/usage", func() bool {
			u, err := store.GetUsage(tr.t.Context())
			if err != nil {
				tr.t.Fatalf("server %d: %v", i, err)
			}
			return cmp.Equal(want, u.NextChange)
		})
	}
}

// send sends requests to all servers until some time after the last change.
func (tr *planTrial) send() {
	end := tr.instants[2].Add(800 * time.Millisecond)
	var all sync.WaitGroup
	for i := range tr.servers {
		for worker := range 2 {
			all.Go(func() {
				var got []response
				for n := 0; time.Now().Before(end); n++ {
					token := tr.tn.keys[(n+5*worker)%len(tr.tn.keys)].token
					got = append(got, tr.client.get(tr.servers[i], token, "/pets?limit=1"))
					time.Sleep(10 * time.Millisecond) // so that no key is refused so often that it is banned
				}
				tr.mu.Lock()
				defer tr.mu.Unlock()
				tr.responses[i] = append(tr.responses[i], got...)
			})
		}
	}
	all.Wait()
}

var minutePolicy = regexp.MustCompile(`"minute";q=(\d+)`)

// quota returns which of the quotas a response shows, -1 for none.
func (tr *planTrial) quota(a response) int {
	m := minutePolicy.FindStringSubmatch(a.header.Get("RateLimit-Policy"))
	if m == nil {
		return -1
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return slices.Index(tr.quotas, n)
}

// clockSlack is by how much the clocks of the servers, and of this test, may differ from the database's on one machine.
const clockSlack = 20 * time.Millisecond

// checkInstants checks for each server that no request that came after an instant was decided by what was before it, and none before by
// what came after.
func (tr *planTrial) checkInstants() {
	tr.t.Helper()
	for i, responses := range tr.responses {
		slices.SortFunc(responses, func(a, b response) int { return a.sent.Compare(b.sent) })
		for k, at := range tr.instants {
			var lastBefore, firstAfter response
			for _, a := range responses {
				switch q := tr.quota(a); {
				case q < 0:
					tr.t.Errorf("server %d: %v", i, a)
				case q <= k:
					lastBefore = a
				case firstAfter.sent.IsZero():
					firstAfter = a
				}
			}
			tr.t.Logf("server %d, %d to %d a minute: last before sent %v, first after answered %v",
				i, tr.quotas[k], tr.quotas[k+1], lastBefore.sent.Sub(at), firstAfter.got.Sub(at))
			if lastBefore.sent.IsZero() || firstAfter.sent.IsZero() {
				tr.t.Errorf("server %d: no response before or after change %d", i, k)
			}
			if lastBefore.sent.After(at.Add(clockSlack)) || firstAfter.got.Before(at.Add(-clockSlack)) {
				tr.t.Errorf("server %d: change %d did not come at its instant", i, k)
			}
		}
	}
}

// counted is what one quota admitted and refused.
type counted struct{ Admitted, Refused int64 }

// checkCounts checks that each quota admitted what it had room for, and that all is recorded where it was decided.
func (tr *planTrial) checkCounts(redisLost bool) {
	tr.t.Helper()
	got := make([]counted, len(tr.quotas))
	got[0].Admitted = tr.tn.used
	for _, responses := range tr.responses {
		for _, a := range responses {
			switch q := tr.quota(a); {
			case a.status == 200:
				got[q].Admitted++
			case a.code == "rate_limit_exceeded":
				got[q].Refused++
			default:
				tr.t.Errorf("%v", a)
			}
		}
	}
	var used int64
	for k, quota := range tr.quotas {
		// On a busy machine there may be too few requests to use up a quota: then none is refused. Without Redis each server admits from a
		// part of the limit, and what it holds at the end of a quota comes back later.
		room, n := max(quota-used, 0), got[k].Admitted
		if n > room || n == 0 && room > 0 || n < room && got[k].Refused > 0 && !redisLost {
			tr.t.Errorf("%d a minute: %+v, want %d admitted", quota, got[k], room)
		}
		used += n
	}
	wait.Until(tr.t, "all usage recorded", func() bool { return cmp.Equal(got, tr.recordedByQuota()) })
	if diff := cmp.Diff(got, tr.recordedByQuota()); diff != "" {
		tr.t.Errorf("recorded (-counted +recorded):\n%s", diff)
	}
	tr.t.Logf("counted and recorded: %+v", got)
}

// recordedByQuota returns what is recorded under each quota.
func (tr *planTrial) recordedByQuota() []counted {
	tr.t.Helper()
	recorded := make([]counted, len(tr.quotas))
	for i, q := range tr.quotas {
		var sums [2]int64
		for j, column := range []string{"admitted", "refused"} {
			sums[j] = tr.number(`
				select coalesce(sum(u.`+column+`), 0) from usage_hourly u
				join quota_periods p on p.tenant_id = u.tenant_id and p.assignment = u.assignment and p.version = u.version
				where u.tenant_id = $1 and p.per_minute = $2`, tr.tn.ID, q)
		}
		recorded[i] = counted{sums[0], sums[1]}
	}
	return recorded
}
