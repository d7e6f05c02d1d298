package distributed_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// reportedStore notes what is reported.
type reportedStore struct {
	*testCluster
	names chan string
	fails bool
}

func (s *reportedStore) Report(ctx context.Context, reports []counter.Report) error {
	if s.fails {
		return errGone
	}
	for _, r := range reports {
		s.names <- string(rune('0'+r.TenantID)) + r.KeyID
	}
	return s.testCluster.Report(ctx, reports)
}

func (s *reportedStore) taken() []string {
	var all []string
	for {
		select {
		case name := <-s.names:
			all = append(all, name)
		default:
			slices.Sort(all)
			return all
		}
	}
}

// TestReportsOfIdleTenants: a tenant or key is reported in the middle of a term when it is idle, and then not at the end, unless it has
// sent requests since.
func TestReportsOfIdleTenants(t *testing.T) {
	t.Parallel()
	s := &reportedStore{testCluster: newTestCluster(), names: make(chan string, 100)}
	o := patient
	o.Counters = s
	l := s.server(t, redistest.Shared(t), o)
	decides(t, l)
	take := func(tenantID int64, keyID string, perMinute int64) {
		t.Helper()
		c := limits.Claim{TenantID: tenantID, KeyID: keyID, KeyPerMinute: perMinute, Quota: unlimited}
		if d := l.Take(t.Context(), c, time.Now()); !d.Admitted {
			t.Fatalf("decided %+v", d)
		}
	}
	reported := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.taken()); diff != "" {
			t.Errorf("reported (-want +got)\n%s", diff)
		}
	}
	idle := func() { l.ReportIdle(t.Context()) }

	take(1, "", 0)
	take(2, "k", 5)
	idle()
	reported() // They were not idle.
	s.fails = true
	idle()
	s.fails = false
	idle()
	reported("1", "2", "2k")
	idle()
	reported() // Nothing is new.
	take(2, "k", 5)
	take(3, "", 0)
	l.member.SetRedis("") // The term ends.
	wait.Until(t, "another term", func() bool {
		term, ok := l.member.Term()
		return ok && term.Redis == ""
	})
	reported("2", "2k", "3")
	if row := s.Row(2, ""); row.DayUsed != 2 {
		t.Errorf("the store knows %+v", row)
	}
}
