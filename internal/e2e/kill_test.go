package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// hugeQuota is a quota that no test reaches.
var hugeQuota = &plans.Quota{PerMinute: 10_000_000, PerDay: 10_000_000}

// TestKilledServer kills a server while animals are created: every animal with a response of 201 is
// stored once, and usage is recorded up to the last second.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	rounds := 2
	if long() {
		rounds = 30
	}
	d := newDeployment(t, false)
	for round := range rounds {
		s := d.serve()
		tn := d.tenant(plans.Enterprise, hugeQuota, 2)
		stop := startLoad(8, func(caller, request int) response {
			return d.client.post(s, tn.keys[caller%2].token, fmt.Sprintf("%d-%d-%d", round, caller, request))
		})
		// the server dies at some time after usage was recorded
		time.Sleep(1500*time.Millisecond + time.Duration(round)*170*time.Millisecond)
		s.Kill()
		killed := time.Now()
		responses := stop()

		var created []string
		var early int64
		for _, a := range responses {
			if a.status != 201 {
				continue
			}
			var p pet
			assert.NoError(t, json.Unmarshal(a.body, &p))
			created = append(created, p.Name)
			if a.got.Before(killed.Add(-time.Second)) {
				early++
			}
		}
		once := d.number(`
			select count(*) from (select name from pets where tenant_id = $1 group by name having count(*) = 1) p
			where name = any($2)`, tn.ID, pq.Array(created))
		stored := d.number(`select count(*) from pets where tenant_id = $1`, tn.ID)
		recorded := recorded(d, tn)
		t.Logf(
			"kill -9: %d answered 201, %d of them stored once, %d stored; usage recorded %d, of which %d a second "+
				"before the end",
			len(created),
			once,
			stored,
			recorded,
			early,
		)
		if once != int64(len(created)) || once == 0 {
			t.Errorf("%d of %d acknowledged animals are stored once", once, len(created))
		}
		if recorded < early || recorded > stored+8 {
			t.Errorf(
				"usage recorded %d, want at least the %d answered a second before the end and at most %d",
				recorded,
				early,
				stored,
			)
		}
		// It said up to when everything is recorded, ten seconds behind, and nobody forgets that it
		// did not end as it should.
		if n := d.number(
			`select count(*) from usage_deliveries where delivered_to > written_at - interval '15 seconds'`,
		); n != int64(
			round+1,
		) {
			t.Errorf("a month waits for %d servers, want the %d killed ones", n, round+1)
		}
	}
}

// TestStoppedServer stops a server gracefully under load. All admitted requests are recorded, every
// request that was sent before the stop gets a response, and the next server, which counts in
// memory, continues the day's count.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_DRAIN_DELAY=2s")
	tn := d.freshTenant(plans.Enterprise, &plans.Quota{PerMinute: 1_000_000, PerDay: 2_000_000}, 2)
	const callers = 8
	stop := startLoad(callers, func(caller, request int) response { return anyRequest(d, s, tn, caller, request) })
	time.Sleep(1500 * time.Millisecond) // longer than usage waits to be recorded
	asked := time.Now()
	d.beginStop(s)
	if a := d.patient.get(s, tn.keys[0].token, "/pets"); a.status != 200 {
		t.Errorf("after readiness has failed, before the drain delay is over: %v", a)
	}
	assert.Equal(t, s.Wait(), 0, "exit code")
	ended := time.Now()
	responses := stop()
	n := countByCode(responses)
	total := int64(n["200"]+n["201"]) + 1
	recorded := recorded(d, tn)
	t.Logf(
		"stopped within %v: %v; admitted %d, recorded %d",
		ended.Sub(asked).Round(time.Millisecond),
		n,
		total,
		recorded,
	)
	// Shutdown closes idle connections. A request that arrives on one in that instant may be
	// admitted, and its response be lost.
	lost := int64(0)
	for _, a := range responses {
		if a.err != nil && !errors.Is(a.err, syscall.ECONNREFUSED) {
			lost = min(lost+1, callers)
		}
	}
	if recorded < total || recorded > total+lost {
		t.Errorf(
			"usage recorded %d, want the %d admitted, and at most %d that lost their response",
			recorded,
			total,
			lost,
		)
	}
	if n := d.number(`select count(*) from usage_deliveries`); n != 0 {
		t.Errorf("a month waits for %d servers that have recorded everything and ended", n)
	}
	for _, a := range responses {
		// Later requests may find the socket closed.
		if a.err != nil && a.sent.Before(asked) {
			t.Errorf("a request sent before the stop was not answered: %v", a.err)
		}
	}

	next := d.serve()
	left := d.patient.get(next, tn.keys[0].token, "/pets").windows["day"].remaining
	t.Logf("started again with limits in memory: %d of the day's %d left", left, tn.Quota.PerDay)
	want := tn.Quota.PerDay - recorded - 1
	assert.Equal(t, left, want, "of the day are left")
}

// recorded returns how many admitted requests of the tenant are recorded for billing.
func recorded(d *deployment, tn *tenant) int64 {
	d.t.Helper()
	return d.number(`select coalesce(sum(admitted), 0) from usage_hourly where tenant_id = $1`, tn.ID)
}
