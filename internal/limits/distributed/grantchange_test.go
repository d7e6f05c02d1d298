package distributed_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

// hookedStore lets a test act while a grant is under way.
type hookedStore struct {
	*testCluster
	grant func()
}

func (s *hookedStore) Grant(ctx context.Context, r counter.GrantRequest) (counter.Grant, error) {
	s.grant()
	return s.testCluster.Grant(ctx, r)
}

// TestGrantsWhileThePlanChanges: a request of the old quota is answered with its own grant, also when requests of the
// new one come while that is under way.
func TestGrantsWhileThePlanChanges(t *testing.T) {
	t.Parallel()
	for name, perMinute := range map[string]int64{"upgrade": 90, "downgrade": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestCluster()
			old := limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}}
			next := old
			next.Quota.PerMinute = perMinute
			calls := 0
			var l *testServer
			o := patient
			o.Counters = &hookedStore{w, func() {
				// A request of the other quota comes now.
				if calls++; calls <= 3 && !l.WaitsForGrant(next, limitstest.Noon) {
					t.Error("it does not wait for the grant under way")
				}
			}}
			l = w.server(t, noRedis, o)
			if d := l.Take(t.Context(), old, limitstest.Noon); !d.Admitted || d.Minute.Limit != 60 || d.Minute.Remaining != 59 {
				t.Errorf("decided %+v", d)
			}
			assert.Equal(t, calls, 1, "grants were taken for one request")
			admitted := int64(1)
			for range 100 {
				if l.Take(t.Context(), next, limitstest.Noon.Add(time.Second)).Admitted {
					admitted++
				}
			}
			assert.Equal(t, admitted, perMinute, "were admitted")
		})
	}
}
