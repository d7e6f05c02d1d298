package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
)

// TestPlanChangesAtItsInstant: at the instant of a change that was scheduled, each server goes over
// to the next quota by itself. No request that came after it is decided by what was before, and
// none before by what comes after.
func TestPlanChangesAtItsInstant(t *testing.T) {
	t.Parallel()
	// clockSlack is by how much the clocks of the servers, and of this test, may differ from the
	// database's on one machine.
	const nextLimit, clockSlack = 7000, 20 * time.Millisecond
	d := newDeployment(t, true)
	servers := d.serveAll(2)
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	at := time.Now().Add(5 * time.Second).Truncate(time.Microsecond)
	d.exec(
		`insert into tenant_plans (tenant_id, plan, valid_from, per_minute, per_day) values ($1, 'enterprise', $2, $3,
			700000)`,
		tn.ID,
		at,
		nextLimit,
	)
	stop := startLoad(len(servers), func(caller, _ int) response {
		time.Sleep(10 * time.Millisecond) // so that the limit of a minute is not reached
		return d.patient.get(servers[caller], tn.keys[0].token, "/pets?limit=1")
	})
	time.Sleep(time.Until(at.Add(500 * time.Millisecond))) // until some time after the change
	before, after := 0, 0
	for _, a := range stop() {
		switch limit := a.integer("X-RateLimit-Limit"); {
		case limit == hugeQuota.PerMinute && a.sent.Before(at.Add(clockSlack)):
			before++
		case limit == nextLimit && a.got.After(at.Add(-clockSlack)):
			after++
		default:
			t.Errorf(
				"limit %d of a request that was sent %v and answered %v after the change: %v",
				limit,
				a.sent.Sub(at),
				a.got.Sub(at),
				a,
			)
		}
	}
	if t.Logf("%d requests before the change, %d after it", before, after); before == 0 || after == 0 {
		t.Error("no request before the change, or none after it")
	}
}
