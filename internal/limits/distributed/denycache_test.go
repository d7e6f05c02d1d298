package distributed_test

import (
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

func TestCountersExpire(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	l, client := newTestCluster().server(t, url, patient), look(t, url)
	c := limits.Claim{TenantID: 1, KeyID: "key_1", Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 50}
	d := l.Take(t.Context(), c, limitstest.Noon)
	lives := func(what, key string, most time.Duration) {
		t.Helper()
		ttl := client.TTL(t.Context(), key).Val()
		assert.True(t, ttl > most/2 && ttl <= most, what, key, "lives", ttl, "want up to", most)
	}
	lives("counted", "pst:4:{1}", 40*24*time.Hour)
	_ = beginWrite(t, l).Commit()
	l.Refund(t.Context(), c, d)
	lives("given back", "pst:4:{1}", 40*24*time.Hour)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		assert.True(t, client.TTL(t.Context(), key).Val() > 0, key, "lives for ever")
	}
}

// TestFloodCostsNoRoundTrips: what Redis refused is refused in this process until something
// changes.
func TestFloodCostsNoRoundTrips(t *testing.T) {
	t.Parallel()
	// Refunds are published to a whole Redis server, whatever the database: on a shared one other
	// tests' refunds would arrive.
	url, w := redistest.New(t).URL, newTestCluster()
	l := w.server(t, url, patient)
	other := w.server(t, url, patient)
	decides(t, l, other)
	wait.Until(t, "it hears of refunds", func() bool { return l.Session() != 0 })
	small, large := plans.Quota{PerMinute: 2, PerDay: 10}, plans.Quota{PerMinute: 3, PerDay: 10}
	got := func(what string, calledRedis int64, got, want limits.Decision) {
		t.Helper()
		limitstest.Check(t, what, got, want)
		assert.Equal(t, l.calls.takes.Swap(0), calledRedis, what, "calls to Redis")
	}
	first := l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon)
	l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon)
	l.calls.takes.Store(0)
	got(
		"the first refusal",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon),
		limitstest.Want(false, 1, small, limitstest.Noon, 2, 2),
	)
	assert.Equal(t, limitstest.TakeN(t, l, 1, small, limitstest.Noon, 1000), 0, "admitted over the limit")
	late := time.Unix(first.Minute.Reset, 0).Add(-1)
	got(
		"a flood",
		0,
		l.Take(t.Context(), limitstest.Claim(1, small), late),
		limitstest.Want(false, 1, small, late, 2, 2),
	)
	got(
		"another plan",
		1,
		l.Take(t.Context(), limitstest.Claim(1, large), limitstest.Noon),
		limitstest.Want(true, 1, large, limitstest.Noon, 3, 3),
	)
	got(
		"the plan before",
		0,
		l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon),
		limitstest.Want(false, 1, small, limitstest.Noon, 3, 3),
	)
	// It counts each refund of its own twice: when it is made, and when Redis publishes it.
	awaitRefunds := func(refunds int64) {
		t.Helper()
		wait.Until(t, "it hears of all refunds", func() bool { return l.RefundsHeard() == refunds })
	}
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	l.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	awaitRefunds(4)
	got(
		"after refunds",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon),
		limitstest.Want(true, 1, small, limitstest.Noon, 2, 2),
	)
	got(
		"refused again",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), limitstest.Noon),
		limitstest.Want(false, 1, small, limitstest.Noon, 2, 2),
	)
	other.Refund(t.Context(), limits.Claim{TenantID: 1}, first)
	awaitRefunds(5)
	got(
		"another server's refund",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), late),
		limitstest.Want(true, 1, small, late, 2, 2),
	)
	got(
		"refused once more",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), late),
		limitstest.Want(false, 1, small, late, 2, 2),
	)

	// Without a subscription a second is the most.
	l.Refunds().Subscribed(0)
	got(
		"without a subscription",
		0,
		l.Take(t.Context(), limitstest.Claim(1, small), late.Add(1-distributed.DenialAge)),
		limitstest.Want(false, 1, small, late, 2, 2),
	)
	got(
		"without a subscription for a second",
		1,
		l.Take(t.Context(), limitstest.Claim(1, small), late.Add(-distributed.DenialAge)),
		limitstest.Want(false, 1, small, late, 2, 2),
	)
}

// A day that is full stays so over the edges of minutes.
func TestFullDayCostsNoRoundTrips(t *testing.T) {
	t.Parallel()
	l := newTestCluster().server(t, redistest.New(t).URL, patient) // of its own, as above
	wait.Until(t, "it hears of refunds", func() bool { return l.Session() != 0 })
	q := plans.Quota{PerMinute: 5, PerDay: 2}
	limitstest.TakeN(t, l, 1, q, limitstest.Noon, 3)
	l.calls.takes.Store(0)
	for at := limitstest.Noon; limits.DayAt(at) == limits.DayAt(limitstest.Noon); at = at.Add(time.Minute) {
		minuteUsed := int64(2)
		if limits.MinuteAt(1, at) != limits.MinuteAt(1, limitstest.Noon) {
			minuteUsed = 0
		}
		limitstest.Check(
			t,
			at.String(),
			l.Take(t.Context(), limitstest.Claim(1, q), at),
			limitstest.Want(false, 1, q, at, minuteUsed, 2),
		)
	}
	assert.Equal(t, l.calls.takes.Load(), 0, "calls to Redis for a day that is full")
	tomorrow := limitstest.Noon.Add(12 * time.Hour)
	limitstest.Check(
		t,
		"tomorrow",
		l.Take(t.Context(), limitstest.Claim(1, q), tomorrow),
		limitstest.Want(true, 1, q, tomorrow, 1, 1),
	)
}
