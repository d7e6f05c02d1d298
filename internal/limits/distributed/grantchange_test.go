package distributed_test

import (
	"context"
	"errors"
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
	grant func() error
}

func (s *hookedStore) Grant(ctx context.Context, r counter.GrantRequest) (counter.Grant, error) {
	if err := s.grant(); err != nil {
		return counter.Grant{}, err
	}
	return s.testCluster.Grant(ctx, r)
}

// TestGrantsWhileThePlanChanges: a request of the old quota is answered with its own grant, also
// when requests of the new one come meanwhile.
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
			o.Counters = &hookedStore{w, func() error {
				// A request of the other quota comes now.
				calls++
				assert.True(
					t,
					calls > 3 || l.WaitsForGrant(next, limitstest.Noon),
					"it does not wait for the grant under way",
				)
				return nil
			}}
			l = w.server(t, noRedis, o)
			d := l.Take(t.Context(), old, limitstest.Noon)
			assert.True(t, d.Admitted && d.Minute.Limit == 60 && d.Minute.Remaining == 59, "decided", d)
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

// TestRefundAfterADowngrade: what is refunded of a higher limit admits no request of the lower one,
// when no grant was made under that yet.
func TestRefundAfterADowngrade(t *testing.T) {
	t.Parallel()
	w := newTestCluster()
	old := limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 12, PerDay: 1000}}
	next := limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 6, PerDay: 1000}}
	o, away := patient, error(nil)
	o.Counters = &hookedStore{w, func() error { return away }}
	l := w.server(t, noRedis, o)
	d := l.Take(t.Context(), old, limitstest.Noon)
	assert.Equal(t, limitstest.TakeN(t, w.server(t, noRedis, patient), 1, old.Quota, limitstest.Noon, 7), 7)
	away = errors.New("postgres is away")
	assert.True(t, l.Take(t.Context(), next, limitstest.Noon).Undecided)
	away = nil
	l.Refund(t.Context(), old, d)
	assert.True(
		t,
		!l.Take(t.Context(), next, limitstest.Noon).Admitted,
		"7 of 6 are used, and another one was admitted",
	)
}
