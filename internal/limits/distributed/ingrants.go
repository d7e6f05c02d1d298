package distributed

import (
	"context"
	"slices"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
)

// inGrants decides in terms in which Postgres does. It decides in this process, from grants.
type inGrants struct {
	options *Options
	seen    *seen
	denials *denyCache
}

// take implements mode. It decides from the rest of the server's grant, and asks for another if
// none is left. It announces no writes, because there are no stamps.
func (m *inGrants) take(
	ctx context.Context,
	t cluster.Term,
	c limits.Claim,
	now time.Time,
	count int64,
	w *writing,
) (limits.Decision, error) {
	w.release()
	minute, day, month := limits.MinuteAt(c.TenantID, now), limits.DayAt(now), c.MonthAt(now)
	for {
		if count > 0 {
			if d, denied := m.denials.denied(t.Number, 0, &c, minute, day, month, now); denied {
				return d, nil
			}
		}
		d, call, r, err := m.spend(&t, &c, minute, day, month, now, count)
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

// spend decides from the rest of the grant if it can. Otherwise it returns a call for a grant,
// which another request makes, or which the caller must make with r if r is not nil.
func (m *inGrants) spend(t *cluster.Term, c *limits.Claim, minute, day, month int64, now time.Time, count int64) (
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
	if u, ok := p.spend(c, minute, day, month, count); ok {
		if d = a.decision(t.Number, st, c, p.base, u, count); d.Admitted || count == 0 {
			return d, nil, nil, nil
		}
		p.left += count // given back under a higher limit
	}
	if p.call != nil {
		p.waiting++
		return d, p.call, nil, nil
	}
	p.giveBack(p.rest())
	p.left = 0
	r = &counter.GrantRequest{Claim: *c, Term: t.Number, At: now, Want: count * (1 + p.waiting), Returns: p.returns}
	p.call = &grantCall{done: make(chan struct{})}
	p.waiting, p.returns = 0, nil
	return d, p.call, r, nil
}

// call asks for a grant, or only looks, and wakes the requests that wait for the call. decided says
// that d is the decision on the caller's own request.
func (m *inGrants) call(ctx context.Context, t *cluster.Term, call *grantCall, r counter.GrantRequest) (
	d limits.Decision, decided bool, err error,
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	var got counter.Grant
	failed := errTermOver // This stays the result after a panic: nobody must wait for ever.
	defer func() {
		d, decided, err = m.granted(t, &r, got, failed)
		call.err = err
		close(call.done)
	}()
	got, failed = m.options.Counters.Grant(ctx, r)
	return d, decided, err
}

// granted records the end of a call for a grant; failed is the call's error. It drops grants of an
// ended term. It decides the caller's own request if that only looks, or if the limits changed
// during the call: otherwise requests under the new limits would take every further grant.
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
		p.giveBack(counter.Return{
			Minute: got.Minute, Day: got.Day, Month: r.Counts(got.Month), Count: got.Count - own,
		})
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
			month:   got.Month,
			used:    got.Used(),
			at:      r.At,
			partial: t.Servers > 1,
		}
	}
	if r.Want > 0 && (!changed || own == 0) {
		return limits.Decision{}, false, nil
	}
	return a.decision(t.Number, st, &r.Claim, got.Baseline, got.Used().Plus(&r.Claim, -got.Count), own), true, nil
}

func (a *tenantState) decision(
	term int64,
	st *claimState,
	c *limits.Claim,
	b counter.Baseline,
	u limits.Used,
	count int64,
) limits.Decision {
	d := limits.Decide(c, b.Minute, b.Day, b.Month, u, count)
	d.Term = term
	a.report(term, st, &d)
	return d
}

// refund implements mode. The request goes back to the pool if it belongs to the same term.
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
	st.pool.refund(&c, &d)
}

// grantPool is what this server may still admit for one kind of claims in a term in which Postgres
// decides.
type grantPool struct {
	term int64
	// quota and perKey are the limits that the grant was made under.
	quota  plans.Quota
	perKey int64
	// base is what was used of the grant's windows when it was made, including the grant. left is
	// the unused rest of the grant.
	base counter.Baseline
	left int64
	// returns are given back with the next call.
	returns []counter.Return
	// call is the call under way, nil for none. waiting counts those who wait for it.
	call    *grantCall
	waiting int64
}

// grantCall is a call for a grant.
type grantCall struct {
	done chan struct{}
	err  error
}

// enter moves the pool to the term and the claim's limits, and reports whether the limits changed.
// A grant left over from an earlier term is dropped.
func (p *grantPool) enter(term int64, c *limits.Claim) (changed bool) {
	if p.isFor(term, c) {
		return false
	}
	if p.term != term {
		p.returns, p.left, p.waiting = nil, 0, 0
	}
	p.giveBack(p.rest())
	p.term, p.quota, p.perKey, p.left = term, c.Quota, c.KeyPerMinute, 0
	return true
}

func (p *grantPool) isFor(term int64, c *limits.Claim) bool {
	return p.term == term && p.quota == c.Quota && p.perKey == c.KeyPerMinute
}

// spend takes count from the pool, if anything is left and the pool's windows are not earlier than
// the given ones. It returns what was used before.
func (p *grantPool) spend(c *limits.Claim, minute, day, month, count int64) (u limits.Used, ok bool) {
	if p.left <= 0 || minute > p.base.Minute || day > p.base.Day || month > p.base.Month {
		return u, false
	}
	u = p.base.Used().Plus(c, -p.left)
	p.left -= count
	return u, true
}

// rest is the unused rest of the grant.
func (p *grantPool) rest() counter.Return {
	c := limits.Claim{Quota: p.quota}
	return counter.Return{Minute: p.base.Minute, Day: p.base.Day, Month: c.Counts(p.base.Month), Count: p.left}
}

// owes reports whether the pool would give back requests of that month.
func (p *grantPool) owes(month int64) bool {
	of := func(r counter.Return) bool { return r.Month == month }
	return p.left > 0 && of(p.rest()) || slices.ContainsFunc(p.returns, of)
}

// refund puts one request of the claim back into the pool. If the request's windows or limits have
// passed, both the request and the rest of the grant go back to Postgres, so that the next call
// says what is used.
func (p *grantPool) refund(c *limits.Claim, d *limits.Decision) {
	one := counter.Return{Minute: d.Minute.Number, Day: d.Day.Number, Month: d.Month.Number, Count: 1}
	rest := p.rest()
	if rest.In(one) && p.call == nil && p.isFor(p.term, c) {
		p.left = min(p.left+1, p.base.MinuteUsed, p.base.DayUsed)
		return
	}
	p.giveBack(one)
	p.giveBack(rest)
	p.left = 0
}

func (p *grantPool) giveBack(r counter.Return) {
	if r.Count <= 0 {
		return
	}
	if n := len(p.returns); n > 0 && p.returns[n-1].In(r) {
		p.returns[n-1].Count += r.Count
		return
	}
	p.returns = append(p.returns, r)
}
