package distributed_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// withSilent returns a server, and another one that decides too but falls silent: it does not renew any more.
func withSilent(t *testing.T, w *testCluster, server *redistest.Server) (*testServer, *distributed.Limiter) {
	t.Helper()
	silent := w.member()
	other := distributed.New(redisbackend.New(look(t, server.URL).(*redisbackend.Client)), distributed.Options{
		Cluster: silent, Counters: w, Timeout: time.Second, Log: zerolog.Nop(),
	})
	for range 2 {
		other.Ping(t.Context())
	}
	l := w.server(t, server.URL, quick)
	for range 3 {
		if err := silent.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	decides(t, l)
	return l, other
}

// TestSilentServerCostsItsMargin: if a server is killed while Redis is lost, the windows count what is recorded and three more. Who is
// refused because of these is not known to be over the limit.
func TestSilentServerCostsItsMargin(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	l, other := withSilent(t, w, server)
	// At the beginning of a minute, so that it lasts until the silent server has surely stopped.
	tenantID := int64(1)
	for now := time.Now(); limits.MinuteReset(tenantID, limits.MinuteAt(tenantID, now))-now.Unix() < 20; tenantID++ {
	}
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	now := time.Now()
	if got := limitstest.TakeN(t, l, tenantID, q, now, 10) + limitstest.TakeN(t, other, tenantID, q, now, 20); got != 30 {
		t.Fatalf("%d admitted, want 30", got)
	}
	var recorded atomic.Int64
	recorded.Store(28)
	w.Recorded = func(_ *limits.Claim, minute, _ int64) counter.Recorded {
		n := recorded.Load()
		return counter.Recorded{Used: n, PerMinute: 60, MinuteNumber: minute, Minute: n, Silent: 1, SilentMinute: 1}
	}
	server.Stop()
	if got := limitstest.TakeN(t, l, tenantID, q, now, 60); got != 60-28-3 {
		t.Errorf("%d admitted, want what remains of 60 after 28 and 3", got)
	}
	if d := l.Take(t.Context(), limitstest.Claim(tenantID, q), now); d.Admitted || !d.Undecided {
		t.Errorf("%+v: want undecided, because nobody knows whether 57 or 60 are used", d)
	}
	recorded.Store(57)
	server.Start()
	decides(t, l)
	for range 2 { // from the durable counters, and from memory
		if d := l.Take(t.Context(), limitstest.Claim(tenantID, q), now); d.Admitted || !d.Undecided {
			t.Errorf("%+v: want undecided in Redis too", d)
		}
	}
}

// TestSilentServerCostsKeysTheirMargin: a server is killed while Redis is lost. A tenant that has used nothing counts nothing of it, but its
// key's minute counts three. Who is refused because of these is not known to be over the key's limit.
func TestSilentServerCostsKeysTheirMargin(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	l, _ := withSilent(t, w, server)
	tenantID, now := int64(1), time.Now()
	for ; limits.MinuteReset(tenantID, limits.MinuteAt(tenantID, now))-now.Unix() < 30; tenantID++ {
	}
	claims := []limits.Claim{limitstest.Claim(tenantID, plans.Quota{PerMinute: 60, PerDay: 1000})}
	claims[0].KeyID, claims[0].KeyPerMinute = "key_0", 2
	claims = append(claims, claims[0])
	claims[1].KeyID = "key_1"
	w.Recorded = func(_ *limits.Claim, minute, _ int64) counter.Recorded {
		return counter.Recorded{PerMinute: 60, MinuteNumber: minute, Silent: 1, SilentMinute: 1}
	}
	refused := func(where string) {
		t.Helper()
		for _, c := range claims {
			for range 2 { // from the durable counters, and from memory
				if d := l.Take(t.Context(), c, now); d.Admitted || !d.Undecided || !d.Key.Reached {
					t.Errorf("%s, %s: %+v: want undecided, because nobody knows whether 0 or 2 are used", where, c.KeyID, d)
				}
			}
		}
	}
	server.Stop()
	refused("in Postgres")
	server.Start()
	decides(t, l)
	refused("in Redis")
}
