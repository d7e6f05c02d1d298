package distributed_test

import (
	"testing"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// TestRedisOfALaterTerm: if the database was set back, Redis has counts of later terms. The cluster
// hears of it, and goes on after them with one change of terms, in which Redis decides.
func TestRedisOfALaterTerm(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	client := look(t, server.URL).(*redisbackend.Client)
	other := redisbackend.New(client)
	t.Cleanup(func() { other.Pin("") })
	fingerprint, err := other.Ping(t.Context())
	assert.NoError(t, err)
	other.Pin(fingerprint)
	a, b := w.two(t, server.URL, quick)
	before, _ := a.member.Term()

	const tenants = 20
	later := before.Number + 40
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	for id := range int64(tenants) {
		base := counter.Baseline{Minute: limits.MinuteAt(id, limitstest.Noon), Day: limits.DayAt(limitstest.Noon)}
		assert.NoError(t, other.InitTenant(t.Context(), later, id, base, false))
	}
	for id := range int64(tenants) {
		for _, l := range []*testServer{a, b} {
			d := l.Take(t.Context(), limitstest.Claim(id, q), limitstest.Noon)
			assert.True(t, d.Admitted && d.Term > later, "tenant", id, d, "want admitted in a later term than", later)
		}
	}
	decides(t, a, b)
	term, _ := a.member.Term()
	t.Logf("from term %d to %d", before.Number, term.Number)
	assert.True(
		t,
		term.Number > later && term.Number == term.SetBack,
		term,
		"want one change of terms, to after those that Redis knows",
	)
}
