package plans

import (
	"context"
	"testing"
	"time"
)

// stepped lets a test act while a portion is under way.
type stepped struct {
	*world
	portion func()
}

func (s *stepped) Portion(ctx context.Context, p PortionClaim) (Portion, error) {
	s.portion()
	return s.world.Portion(ctx, p)
}

// TestPortionsWhileThePlanChanges: a request of the old quota is answered with its own portion, also when requests of the
// new one come while that is under way.
func TestPortionsWhileThePlanChanges(t *testing.T) {
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
			l.ground = &stepped{w, func() {
				if calls++; calls > 3 {
					return
				}
				// What a request of the other quota does that comes now.
				term, _ := l.cluster.Term()
				_, call, p, err := l.ledger.spend(&term, &next, minuteAt(1, noon), DayAt(noon), noon, 1)
				if call == nil || p != nil || err != nil {
					t.Errorf("it does not wait for the portion under way: %v", err)
				}
			}}
			if d := l.Take(t.Context(), old, noon); !d.Admitted || d.Minute.Limit != 60 || d.Minute.Remaining != 59 {
				t.Errorf("decided %+v", d)
			}
			if calls != 1 {
				t.Errorf("%d portions were taken for one request", calls)
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
