package e2e_test

import (
	"net/http"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

var refundFaults = []operatorFault{{"the Postgres of one server hangs", tryHangingPostgres}}

// tryHangingPostgres hangs the Postgres of one of two servers while it has requests of a tenant.
// They end in 503, and must not count: the other server admits the whole minute.
func tryHangingPostgres(t *testing.T) (r faultResult) {
	var way gate
	d := newDeployment(t, true)
	// A refund whose call to Redis takes too long is lost, which is not what is tried.
	hangs := d.serve("PETSTORE_DATABASE_URL="+storetest.ProxyURL(t, d.serverURL, way.relay), patientRedis)
	other := d.serve(patientRedis)
	awaitRedis(t, "up", hangs, other)
	const limit = 100
	tn := d.freshTenant(plans.Enterprise, &plans.Quota{PerMinute: limit, PerDay: 10 * limit}, 1)
	token := tn.keys[0].token
	for _, s := range []*server{hangs, other} {
		assert.Equal(t, d.patient.get(s, token, "/pets/1").status, http.StatusNotFound, "before")
	}
	used := 2

	way.Lock()
	hung := sendAtOnce(50, func(int) response { return d.client.get(hangs, token, "/pets/1") })
	way.Unlock()
	for _, a := range hung {
		if a.status >= 500 {
			r.failed++
		} else {
			used++
		}
		r.slowest = max(r.slowest, a.took())
	}
	assert.True(t, r.failed > 0, "no request ended in 5xx:", countByCode(hung))
	let := 0
	for range limit {
		if a := d.client.get(other, token, "/pets?limit=1"); a.status == http.StatusOK {
			let++
		}
	}
	r.refused = max(0, limit-used-let)
	r.over = int64(max(0, used+let-limit))
	t.Logf("%v while Postgres hung; then %d admitted of %d", countByCode(hung), let, limit-used)
	// One that Redis counts as the server's lease ends is not given back.
	checkServed(t, r.refused, len(hung), "%d were not given back", r.refused)
	assert.Equal(t, r.over, 0, "admitted over the limit")
	return r
}
