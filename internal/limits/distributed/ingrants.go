package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
)

// inGrants decides in terms in which Postgres does: in this process, over grants of what remains.
type inGrants struct {
	options *Options
	seen    *seen
	denials *denyCache
}

// take implements mode. It decides over what is left of the server's grant, and asks for another if
// nothing is left. Nobody is told of writes: there are no stamps.
func (m *inGrants) take(
	ctx context.Context,
	t cluster.Term,
	c limits.Claim,
	now time.Time,
	count int64,
	w *writing,
) (limits.Decision, error) {
	w.release()
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	for {
		if count > 0 {
			if d, denied := m.denials.denied(t.Number, 0, &c, minute, day, now); denied {
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

// spend decides over what is left. Otherwise it returns a call to wait for, or, with r, a call to
// make.
func (m *inGrants) spend(t *cluster.Term, c *limits.Claim, minute, day int64, now time.Time, count int64) (
	d limits.Decision, call *grantCall, r *counter.GrantRequest, err error,
) {
	s := m.seen.shard(c.TenantID)
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
		if d = a.decision(t.Number, st, c, p.base, u, count); d.Admitted || count == 0 {
			return d, nil, nil, nil
		}
		p.left += count // given back of a higher limit than this one
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

// call asks for a grant, or looks, and wakes those who wait for it. It reports whether d is the
// caller's own decision.
func (m *inGrants) call(ctx context.Context, t *cluster.Term, call *grantCall, r counter.GrantRequest) (
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

// granted records a grant. Grants of an ended term are dropped; so is a return whose call failed.
// granted decides over the caller's own request if that only looks, or if the limits changed
// meanwhile: requests under the new limits would otherwise take every further grant.
func (m *inGrants) granted(t *cluster.Term, r *counter.GrantRequest, got counter.Grant, failed error) (
	d limits.Decision, decided bool, err error,
) {
	s := m.seen.shard(r.TenantID)
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
	own := min(r.Want, got.Count, 1)
	changed := !p.isFor(t.Number, &r.Claim)
	if changed {
		p.giveBack(got.Minute, got.Day, got.Count-own)
	} else {
		p.base, p.left = got.Baseline, got.Count
	}
	if r.Want > 0 && got.Count == 0 {
		st.denial = denial{
			term:    t.Number,
			quota:   r.Quota,
			perKey:  r.KeyPerMinute,
			minute:  got.Minute,
			day:     got.Day,
			used:    got.Used(),
			at:      r.At,
			partial: t.Servers > 1,
		}
	}
	if r.Want > 0 && (!changed || own == 0) {
		return limits.Decision{}, false, nil
	}
	return a.decision(t.Number, st, &r.Claim, got.Baseline, got.Used().Plus(-got.Count), own), true, nil
}

func (a *tenantState) decision(
	term int64,
	st *claimState,
	c *limits.Claim,
	b counter.Baseline,
	u limits.Used,
	count int64,
) limits.Decision {
	d := limits.Decide(c, b.Minute, b.Day, u, count)
	d.Term = term
	a.report(term, st, &d)
	return d
}

// refund implements mode. The request goes back to the pool, unless that is of another term.
func (m *inGrants) refund(_ context.Context, _ cluster.Term, c limits.Claim, d limits.Decision) {
	s := m.seen.shard(c.TenantID)
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
	st.pool.refund(&c, d.Minute.Number, d.Day.Number)
}

// grantPool is what this server may still admit of one kind of claims in a term in which Postgres
// decides.
type grantPool struct {
	term int64
	// quota and perKey are the limits that the grant was made under.
	quota  plans.Quota
	perKey int64
	// base is what was used of the grant's windows when it was made, the grant included. left is
	// what is left of it.
	base counter.Baseline
	left int64
	// returns are given back with the next call.
	returns []counter.Return
	// call is the one under way, nil for none. waiting counts who waits for it.
	call    *grantCall
	waiting int64
}

// grantCall is a call for a grant.
type grantCall struct {
	done chan struct{}
	err  error
}

// enter moves the pool to the term and the claim's limits, and reports whether they are others.
// What is left of another term is over with it.
func (p *grantPool) enter(term int64, c *limits.Claim) (changed bool) {
	if p.isFor(term, c) {
		return false
	}
	if p.term != term {
		p.returns, p.left, p.waiting = nil, 0, 0
	}
	p.giveBack(p.base.Minute, p.base.Day, p.left)
	p.term, p.quota, p.perKey, p.left = term, c.Quota, c.KeyPerMinute, 0
	return true
}

func (p *grantPool) isFor(term int64, c *limits.Claim) bool {
	return p.term == term && p.quota == c.Quota && p.perKey == c.KeyPerMinute
}

// spend takes count from the pool, if anything is left in windows that are not before these. It
// returns what was used before.
func (p *grantPool) spend(minute, day, count int64) (u limits.Used, ok bool) {
	if p.left <= 0 || minute > p.base.Minute || day > p.base.Day {
		return u, false
	}
	u = p.base.Used().Plus(-p.left)
	p.left -= count
	return u, true
}

// refund puts one request of the claim back. One of an earlier minute, or of other limits, goes
// back with what is left, so that the next call says what is used.
func (p *grantPool) refund(c *limits.Claim, minute, day int64) {
	if p.base.Minute == minute && p.base.Day == day && p.call == nil && p.isFor(p.term, c) {
		p.left = min(p.left+1, p.base.MinuteUsed, p.base.DayUsed)
		return
	}
	p.giveBack(minute, day, 1)
	p.giveBack(p.base.Minute, p.base.Day, p.left)
	p.left = 0
}

func (p *grantPool) giveBack(minute, day, count int64) {
	if count <= 0 {
		return
	}
	if n := len(p.returns); n > 0 && p.returns[n-1].Minute == minute && p.returns[n-1].Day == day {
		p.returns[n-1].Count += count
		return
	}
	p.returns = append(p.returns, counter.Return{Minute: minute, Day: day, Count: count})
}
