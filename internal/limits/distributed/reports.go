package distributed

import (
	"context"
	"time"

	"petstore.example/internal/limits/counter"
)

const (
	// reportEvery is the pause between reports in the middle of a term.
	reportEvery = 2 * time.Second
	// mostUnreported is how many tenants and keys all servers together leave for the end of a term: no request is decided while they
	// are reported. A report takes Postgres 20 to 35 µs.
	mostUnreported = 5_000
)

// news says whether there is anything to report of a tenant or key. recent is true if that has changed since the last pass.
type news struct{ unreported, recent bool }

// unreported returns reports of what the server has seen used in a term and has not reported. idle are those of which nothing was new
// since the last call.
func (v *localView) unreported(term int64) (all, idle []counter.Report) {
	add := func(n *news, r counter.Report) {
		if !n.unreported {
			return
		}
		all = append(all, r)
		if !n.recent {
			idle = append(idle, r)
		}
		n.recent = false
	}
	v.each(func(tenantID int64, a *tenantState) {
		if a.term == term {
			add(&a.news, counter.Report{TenantID: tenantID, Term: term, Seen: a.highWater})
		}
		for keyID, st := range a.keys {
			if st.term == term {
				seen := counter.Baseline{Minute: st.minute, KeyUsed: st.used}
				add(&st.news, counter.Report{TenantID: tenantID, KeyID: keyID, Term: term, Seen: seen})
			}
		}
	})
	return all, idle
}

// reported notes that reports have succeeded. What is new since they were made is still to be reported.
func (v *localView) reported(reports []counter.Report) {
	for i := range reports {
		v.reportedOne(&reports[i])
	}
}

func (v *localView) reportedOne(r *counter.Report) {
	s := v.shard(r.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[r.TenantID]
	switch {
	case !ok:
	case r.KeyID == "":
		if a.term == r.Term && a.highWater == r.Seen {
			a.news.unreported = false
		}
	default:
		if st, ok := a.keys[r.KeyID]; ok && st.term == r.Term && st.minute == r.Seen.Minute && st.used == r.Seen.KeyUsed {
			st.news.unreported = false
		}
	}
}

// reportAlways reports in the middle of terms until ctx ends.
func (m *redisMode) reportAlways(ctx context.Context) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.reportIdle(ctx, mostUnreported)
		}
	}
}

// reportIdle reports tenants and keys that have been idle, if more than this server's part of so many are to be reported: so that few
// remain for the end of the term, and a tenant that sends requests all the time costs nothing. A report that fails is made again, at the
// latest at the end.
//
// A report may come at any time, because only the maximum counts.
func (m *redisMode) reportIdle(ctx context.Context, most int) {
	t, ok := m.options.Cluster.Term()
	if !ok || t.Redis == "" {
		return
	}
	all, idle := m.view.unreported(t.Number)
	if len(all) <= most/max(1, t.Servers) || m.options.report(ctx, idle) != nil {
		return
	}
	m.view.reported(idle)
}
