package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// grantMode decides in terms in which Postgres does: in this process, over grants of what remains.
type grantMode struct {
	options *Options
	view    *localView
	denials *denyCache
}

// take implements mode. It decides over what is left of the server's grant, and asks for another if nothing is left. Nobody is told of
// writes: there are no stamps.
func (m *grantMode) take(ctx context.Context, t cluster.Term, c limits.Claim, now time.Time, count int64, w *writing) (limits.Decision, error) {
	w.release()
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	for {
		if count > 0 {
			if d, _, denied := m.denials.denied(t.Number, 0, &c, minute, day, now); denied {
				return d, nil
			}
		}
		d, call, r, err := m.spend(&t, &c, minute, day, now, count)
		switch {
		case err != nil || call == nil:
			return d, err
		case r == nil:
			<-call.done
			if call.err != nil {
				return limits.Decision{}, call.err
			}
			continue
		}
		d, decided, err := m.call(ctx, &t, call, *r)
		if err != nil || decided {
			return d, err
		}
	}
}

// spend decides over what is left. Otherwise it returns a call to wait for, or, with r, a call to make.
func (m *grantMode) spend(t *cluster.Term, c *limits.Claim, minute, day int64, now time.Time, count int64) (
	d limits.Decision, call *grantCall, r *counter.GrantRequest, err error,
) {
	s := m.view.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.options.Cluster.Valid(t.Number) {
		return d, nil, nil, errTermOver
	}
	a := s.tenant(c.TenantID, day)
	st := a.claims(c)
	p := &st.pool
	if p.enter(t.Number, c) {
		st.denial = denial{}
	}
	if u, ok := p.spend(minute, day, count); ok {
		return a.decision(t.Number, st, c, p.base, u, count), nil, nil, nil
	}
	if p.call != nil {
		p.waiting++
		return d, p.call, nil, nil
	}
	p.giveBack(p.base.Minute, p.base.Day, p.left)
	p.left = 0
	r = &counter.GrantRequest{Claim: *c, Term: t.Number, At: now, Want: count * (1 + p.waiting), Returns: p.returns}
	p.call = &grantCall{done: make(chan struct{})}
	p.waiting, p.returns = 0, nil
	return d, p.call, r, nil
}

// call asks for a grant, or looks, and wakes those who wait for it. It reports whether d is the caller's own decision.
func (m *grantMode) call(ctx context.Context, t *cluster.Term, call *grantCall, r counter.GrantRequest) (
	d limits.Decision, decided bool, err error,
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	var got counter.Grant
	failed := errTermOver // Until there is a result: nobody must wait for ever after a panic.
	defer func() {
		d, decided, err = m.granted(t, &r, got, failed)
		call.err = err
		close(call.done)
	}()
	got, failed = m.options.Counters.Grant(ctx, r)
	return d, decided, err
}

// granted records a grant. One of a term that is over is lost, and so is what was to be returned with a call that failed. It decides over
// the caller's own request if that only looks, or if the limits changed meanwhile: requests under the new limits would otherwise take
// every further grant from it.
func (m *grantMode) granted(t *cluster.Term, r *counter.GrantRequest, got counter.Grant, failed error) (
	d limits.Decision, decided bool, err error,
) {
	s := m.view.shard(r.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tenant(r.TenantID, limits.DayAt(r.At))
	st := a.claims(&r.Claim)
	p := &st.pool
	p.call = nil
	if failed != nil {
		return limits.Decision{}, false, failed
	}
	if !m.options.Cluster.Valid(t.Number) {
		return limits.Decision{}, false, errTermOver
	}
	a.learn(t.Number, &r.Claim, got.Baseline)
	own := min(r.Want, got.Count, 1)
	changed := !p.isFor(t.Number, &r.Claim)
	if changed {
		p.giveBack(got.Minute, got.Day, got.Count-own)
	} else {
		p.base, p.left = got.Baseline, got.Count
	}
	a.granted = raised(a.granted, counter.Baseline{Minute: got.Minute, MinuteUsed: got.MinuteUsed, Day: got.Day, DayUsed: got.DayUsed})
	st.granted = raised(st.granted, counter.Baseline{Minute: got.Minute, KeyUsed: got.KeyUsed})
	if r.Want > 0 && got.Count == 0 {
		st.denial = denial{
			term: t.Number, quota: r.Quota, perKey: r.KeyPerMinute, minute: got.Minute, day: got.Day, used: got.Used(), at: r.At,
			partial: t.Servers > 1,
		}
	}
	if r.Want > 0 && (!changed || own == 0) {
		return limits.Decision{}, false, nil
	}
	return a.decision(t.Number, st, &r.Claim, got.Baseline, got.Used().Plus(-got.Count), own), true, nil
}

func (a *tenantState) decision(term int64, st *claimState, c *limits.Claim, b counter.Baseline, u limits.Used, count int64) limits.Decision {
	d := limits.Decide(c, b.Minute, b.Day, u, count)
	d.Term = term
	a.doubt(term, st, &d, u)
	a.report(term, st, &d)
	return d
}

// refund implements mode. The request goes back to the pool, unless the pool was returned at the end of the term.
func (m *grantMode) refund(_ context.Context, _ cluster.Term, c limits.Claim, d limits.Decision) {
	s := m.view.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[c.TenantID]
	if !ok {
		return
	}
	st := a.claims(&c)
	if st.pool.term != d.Term {
		return
	}
	st.denial = denial{}
	a.reported.restore(&d)
	st.reported.restore(&d.Key)
	st.pool.refund(d.Minute.Number, d.Day.Number)
}

// end implements mode. It gives back what was not admitted, once.
func (m *grantMode) end(ctx context.Context, t cluster.Term) error {
	var reports []counter.Report
	closed := func(tenantID int64, keyID string, p *grantPool) {
		if returns := p.close(t.Number); len(returns) > 0 {
			reports = append(reports, counter.Report{TenantID: tenantID, KeyID: keyID, Term: t.Number, Returns: returns})
		}
	}
	m.view.each(func(tenantID int64, a *tenantState) {
		closed(tenantID, "", &a.others.pool)
		for keyID, st := range a.keys {
			closed(tenantID, keyID, &st.pool)
		}
	})
	return m.options.report(ctx, reports)
}

// forget empties the grants of a term that ended in a set-back. Nothing is returned: the counters may not know of what was granted.
func (m *grantMode) forget(t cluster.Term) {
	m.view.each(func(_ int64, a *tenantState) {
		a.others.pool.close(t.Number)
		for _, st := range a.keys {
			st.pool.close(t.Number)
		}
	})
}
