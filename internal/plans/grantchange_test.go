package plans

import (
	"context"
	"testing"
	"time"
)

// stepped lets a test act while a grant is under way.
type stepped struct {
	*world
	grant func()
}

func (s *stepped) Grant(ctx context.Context, p GrantRequest) (Grant, error) {
	s.grant()
	return s.world.Grant(ctx, p)
}

// TestGrantsWhileThePlanChanges: a request of the old quota is answered with its own grant, also when requests of the
// new one come while that is under way.
func TestGrantsWhileThePlanChanges(t *testing.T) {
	t.Parallel()
	for name, perMinute := range map[string]int64{"upgrade": 90, "downgrade": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			l := w.server(t, nowhere, patient)
			old := Claim{TenantID: 1, Quota: Quota{PerMinute: 60, PerDay: 1000}}
			next := old
			next.Quota.PerMinute = perMinute
			calls := 0
			l.counterStore = &stepped{w, func() {
				if calls++; calls > 3 {
					return
				}
				// What a request of the other quota does that comes now.
				term, _ := l.cluster.Term()
				_, call, p, err := l.ledger.spend(&term, &next, minuteAt(1, noon), DayAt(noon), noon, 1)
				if call == nil || p != nil || err != nil {
					t.Errorf("it does not wait for the grant under way: %v", err)
				}
			}}
			if d := l.Take(t.Context(), old, noon); !d.Admitted || d.Minute.Limit != 60 || d.Minute.Remaining != 59 {
				t.Errorf("decided %+v", d)
			}
			if calls != 1 {
				t.Errorf("%d grants were taken for one request", calls)
			}
			admitted := int64(1)
			for range 100 {
				if l.Take(t.Context(), next, noon.Add(time.Second)).Admitted {
					admitted++
				}
			}
			if admitted != perMinute {
				t.Errorf("%d were admitted, want %d", admitted, perMinute)
			}
		})
	}
}
