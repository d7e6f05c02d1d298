package limitcluster_test

import (
	"testing"
	"time"

	"petstore.example/bench/limitcluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/redistest"
)

// The servers of a cluster count together, and a limit holds.
func TestClusterCountsTogether(t *testing.T) {
	t.Parallel()
	cluster := limitcluster.New(redistest.Shared(t))
	now := time.Now()
	claim := limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 10, PerDay: 10}}
	admitted := 0
	for range 3 {
		l, leave, err := cluster.Join(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		for range 5 {
			d := l.Take(t.Context(), claim, now)
			if d.Admitted {
				admitted++
			} else {
				t.Logf("%+v", d)
			}
		}
	}
	if admitted != 10 {
		t.Errorf("%d of 15 requests were admitted, want 10", admitted)
	}
}
