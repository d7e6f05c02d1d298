package e2e_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestMonthsEnd: three servers admit exactly the cap of a month, over days, while Redis is killed
// and comes back, while Postgres restarts, and while the month ends by Postgres's clock.
//
// It is parallel to nothing: see serverWithClock.
func TestMonthsEnd(t *testing.T) {
	postgres, set := serverWithClock(t)
	redis := redistest.New(t)
	// It begins at noon on the third last day of a month.
	now := time.Now().UTC()
	end := time.Date(now.Year(), now.Month()+2, 1, 0, 0, 0, 0, time.UTC)
	ahead := time.Until(end.Add(-60 * time.Hour))
	set(ahead)
	d := newDeploymentAs(t, postgres.URL, postgres.APIURL, postgres.SupportURL, redis.URL)
	servers := d.serveAll(3, patientRedis)
	awaitRedis(t, "up", servers...)
	tn := d.tenant(plans.Enterprise, &plans.Quota{PerMinute: 200, PerDay: 200, Month: plans.Month{
		Kind: plans.SomeMonth, Included: 300, Overage: plans.Overage{Kind: plans.OverageShare, Value: 20},
	}}, 2)
	var this, next int64 // admitted in this month, and in the next one
	send := func(n int) (codes map[string]int) {
		t.Helper()
		responses := burst(d, servers, tn, n)
		for _, r := range responses {
			left := r.windows["month"].reset.Sub(r.got)
			switch {
			case r.status == http.StatusOK && left < 72*time.Hour:
				this++
			case r.status == http.StatusOK:
				next++
			}
		}
		return countByCode(responses)
	}
	send(300)
	assert.Equal(t, this, int64(200), "admitted on the first day")
	// follow waits until all servers are in other windows.
	follow := func(in func(r response) bool) {
		for _, s := range servers {
			wait.Until(t, "a server follows Postgres's clock", func() bool {
				return in(d.patient.get(s, tn.keys[0].token, "/usage"))
			})
		}
	}
	set(ahead + 24*time.Hour)
	follow(func(r response) bool { return r.windows["day"].remaining == 200 })
	send(60)
	assert.Equal(t, this, int64(260), "admitted by the second day")
	redis.Stop()
	awaitRedis(t, "down", servers...)
	codes := send(60)
	t.Logf("while Postgres counts: %d of the month, %v", this, codes)
	redis.Start()
	postgres.Stop()
	postgres.Start()
	awaitRedis(t, "up", servers...)
	codes = send(200)
	t.Logf("with Redis again: %d, %v", this, codes)
	assert.Equal(t, this, int64(360), "admitted in the month, included and overage")

	var running sync.WaitGroup
	running.Go(func() { set(ahead + 72*time.Hour) })
	for range 5 {
		send(100)
	}
	running.Wait()
	follow(func(r response) bool { return r.windows["month"].reset.Sub(r.got) > 72*time.Hour })
	send(300)
	t.Logf("admitted: %d in the month, %d in the next", this, next)
	assert.Equal(t, this, int64(360), "admitted in the month when it had ended")
	assert.Equal(t, next, int64(200), "admitted in the next month, on its first day")
}
