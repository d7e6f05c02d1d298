package distributed_test

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestServersLoseRedisTogether: if nobody reaches Redis, asking another server costs the first request one more time-out if Redis
// does not reply, and next to nothing if it refuses connections.
func TestServersLoseRedisTogether(t *testing.T) {
	q := plans.Quota{PerMinute: 100_000, PerDay: 100_000}
	for name, tt := range map[string]struct {
		lose func(*redistest.Server)
		want time.Duration
	}{
		"killed": {(*redistest.Server).Stop, 100 * time.Millisecond},
		"frozen": {(*redistest.Server).Pause, 2*distributed.DefaultTimeout + 100*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			server, w := redistest.New(t), newTestCluster()
			var servers []*testServer
			for range 3 {
				servers = append(servers, w.server(t, server.URL, distributed.Options{Log: zerolog.Nop(), Wait: 20 * time.Second}))
			}
			decides(t, servers...)
			last := servers[2]
			wait.Until(t, "they know of each other", func() bool { return len(last.member.Peers()) == 2 })
			limitstest.TakeN(t, last, 1, q, limitstest.Noon, 10)
			tt.lose(server)
			takes, relayed, began := last.calls.takes.Load(), last.relay.calls.Load(), time.Now()
			d := last.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
			took := time.Since(began)
			if term, _ := last.member.Term(); !d.Admitted || term.Redis != "" {
				t.Errorf("%+v in term %+v: want admitted in one of Postgres", d, term)
			}
			takes, relayed = last.calls.takes.Load()-takes, last.relay.calls.Load()-relayed
			t.Logf("%v, %d calls, %d relayed", took, takes, relayed)
			if takes > 1 || relayed > 1 || took > 10*tt.want {
				t.Errorf("%d calls to Redis and %d to another server in %v, want one of each at most, in about %v", takes, relayed, took, tt.want)
			}
		})
	}
}
