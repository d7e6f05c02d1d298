package distributed_test

import (
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestRefundAfterTheLease: a request that ends in 5xx after the lease, because Postgres hung, is
// given back, in Redis and in a grant.
func TestRefundAfterTheLease(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 3, PerDay: 1000}
	for name, stopped := range map[string]bool{"Redis": false, "Postgres": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := redistest.New(t), newTestCluster()
			l := w.one(t, server.URL, quick)
			if stopped {
				server.Stop()
			}
			d := l.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
			assert.True(t, d.Admitted && !d.Undecided, "before:", d)
			w.away.Store(true)
			wait.Until(t, "the lease has run out", l.member.StoreUnreachable)
			l.Refund(t.Context(), limitstest.Claim(1, q), d)
			w.away.Store(false)
			wait.Until(t, "a term is in force", func() bool { _, ok := l.member.Term(); return ok })
			assert.Equal(t, limitstest.TakeN(t, l, 1, q, limitstest.Noon, 5), 3, "admitted")
		})
	}
}

// TestRefundNotHeardOf: a server that does not hear of a refund repeats no refusal once Redis has
// told it that less is used. Otherwise Remaining would rise and fall with the key that asks.
func TestRefundNotHeardOf(t *testing.T) {
	t.Parallel()
	url, w := redistest.New(t).URL, newTestCluster()
	l, other := w.two(t, url, patient)
	l.calls.deaf.Store(true)
	q := plans.Quota{PerMinute: 2, PerDay: 10}
	c := limitstest.Claim(1, q)
	first := l.Take(t.Context(), c, limitstest.Noon)
	l.Take(t.Context(), c, limitstest.Noon)
	limitstest.Check(
		t,
		"refused",
		l.Take(t.Context(), c, limitstest.Noon),
		limitstest.Want(false, 1, q, limitstest.Noon, 2, 2),
	)
	other.Refund(t.Context(), c, first)
	limitstest.Check(
		t,
		"refused again",
		l.Take(t.Context(), c, limitstest.Noon),
		limitstest.Want(false, 1, q, limitstest.Noon, 2, 2),
	)
	if d := l.Peek(t.Context(), c, limitstest.Noon); d.Minute.Remaining != 1 {
		t.Fatalf("%d remain, want 1", d.Minute.Remaining)
	}
	limitstest.Check(
		t,
		"after another reply",
		l.Take(t.Context(), c, limitstest.Noon),
		limitstest.Want(true, 1, q, limitstest.Noon, 2, 2),
	)
}
