package plans

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/cluster"
)

// grantTimeout bounds what a request waits for an answer of CounterStore.
const grantTimeout = time.Second

// pool is what this server may still admit of one kind of claims in a term in which Postgres decides.
type pool struct {
	term int64
	// quota and perKey are those that the grant was taken under.
	quota  Quota
	perKey int64
	// base is what was used of the grant's windows when it was taken, the grant included; left is what is left of it.
	base Baseline
	left int64
	// back is to be given back with the next call.
	back []Return
	// call is the one under way, nil for none; waited is how many waited for the last one.
	call   *grantCall
	waited int64
}

type grantCall struct {
	done chan struct{}
	err  error
}

// takeGrant decides over what this server has left of its grant, and takes another when nothing is left.
func (r *Redis) takeGrant(ctx context.Context, t *cluster.Term, c *Claim, now time.Time, count int64) (Decision, error) {
	minute, day := minuteAt(c.TenantID, now), DayAt(now)
	for {
		if count > 0 {
			if d, refused := r.ledger.refused(t.Number, 0, c, minute, day, now); refused {
				d.Term = t.Number
				return d, nil
			}
		}
		d, call, p, err := r.ledger.spend(t, c, minute, day, now, count)
		switch {
		case err != nil:
			return Decision{}, err
		case call == nil:
			d.Term = t.Number
			return d, nil
		case p == nil:
			<-call.done
			if call.err != nil {
				return Decision{}, call.err
			}
			continue
		}
		d, decided, err := r.callGrant(ctx, t, call, *p)
		if err != nil || decided {
			d.Term = t.Number
			return d, err
		}
	}
}

// callGrant takes a grant, or looks, and lets those go on who wait for it. It reports whether d is the caller's own decision.
func (r *Redis) callGrant(ctx context.Context, t *cluster.Term, call *grantCall, p GrantRequest) (d Decision, decided bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grantTimeout)
	defer cancel()
	var got Grant
	failed := errOver // Until there is an answer: nobody must wait for ever after a panic.
	defer func() {
		d, decided, err = r.ledger.granted(t, &p, got, failed)
		call.err = err
		close(call.done)
	}()
	got, failed = r.counterStore.Grant(ctx, p)
	if errors.Is(failed, ErrTermOver) {
		failed = errOver
	}
	return d, decided, err
}

// spend decides by what is left. Otherwise it returns a call: to wait for, or with p, to make.
func (l *ledger) spend(t *cluster.Term, c *Claim, minute, day int64, now time.Time, count int64) (
	d Decision, call *grantCall, p *GrantRequest, err error,
) {
	s := l.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.cluster.Valid(t.Number) {
		return d, nil, nil, errOver
	}
	a := s.account(c.TenantID, day)
	st := a.state(c)
	q := &st.pool
	if q.enter(t.Number, c) {
		st.refusal = refusal{}
	}
	if q.left > 0 && minute <= q.base.Minute && day <= q.base.Day {
		u := q.base.used().plus(-q.left)
		q.left -= count
		d = decide(c, q.base.Minute, q.base.Day, u, count)
		a.show(t.Number, st, &d)
		return d, nil, nil, nil
	}
	if q.call != nil {
		q.waited++
		return d, q.call, nil, nil
	}
	q.giveBack(q.base.Minute, q.base.Day, q.left)
	q.left = 0
	p = &GrantRequest{Claim: *c, Term: t.Number, At: now, Want: count * (1 + q.waited), Returns: q.back}
	q.call = &grantCall{done: make(chan struct{})}
	q.waited, q.back = 0, nil
	return d, q.call, p, nil
}

// granted takes a grant down. One of a term that is over by now is lost; so is what was to be given back with a call that failed.
// It decides over the caller's own request where that only looks, or was overtaken by a change of the limits: those who come
// under the new ones would take each further grant from under it too.
func (l *ledger) granted(t *cluster.Term, p *GrantRequest, got Grant, failed error) (d Decision, decided bool, err error) {
	s := l.shard(p.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(p.TenantID, DayAt(p.At))
	st := a.state(&p.Claim)
	q := &st.pool
	q.call = nil
	if failed != nil {
		return Decision{}, false, failed
	}
	if !l.cluster.Valid(t.Number) {
		return Decision{}, false, errOver
	}
	own := min(p.Want, got.Count, 1)
	changed := q.term != t.Number || q.quota != p.Quota || q.perKey != p.KeyPerMinute
	if changed {
		q.giveBack(got.Minute, got.Day, got.Count-own)
	} else {
		q.base, q.left = got.Baseline, got.Count
	}
	if p.Want > 0 && got.Count == 0 {
		st.refusal = refusal{
			term: t.Number, quota: p.Quota, perKey: p.KeyPerMinute, minute: got.Minute, day: got.Day, used: got.used(), at: p.At,
			partial: t.Servers > 1,
		}
	}
	if p.Want > 0 && (!changed || own == 0) {
		return Decision{}, false, nil
	}
	d = decide(&p.Claim, got.Minute, got.Day, got.used().plus(-got.Count), own)
	a.show(t.Number, st, &d)
	return d, true, nil
}

// returnToken gives one request back that was admitted in the pool's term.
func (l *ledger) returnToken(c *Claim, d *Decision) {
	s := l.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[c.TenantID]
	if !ok || !l.cluster.Valid(d.Term) {
		return
	}
	st := a.state(c)
	q := &st.pool
	if q.term != d.Term {
		return
	}
	st.refusal = refusal{}
	a.shown.raise(d)
	st.shown.raise(&d.Key)
	if q.base.Minute == d.Minute.Number && q.base.Day == d.Day.Number && q.call == nil {
		q.left = min(q.left+1, q.base.MinuteUsed, q.base.DayUsed)
		return
	}
	q.giveBack(d.Minute.Number, d.Day.Number, 1)
}

// enter makes the pool one of the term and the claim's limits, and reports whether it was another. What is left of another term
// is lost; it was given back at its end.
func (q *pool) enter(term int64, c *Claim) (changed bool) {
	if q.term == term && q.quota == c.Quota && q.perKey == c.KeyPerMinute {
		return false
	}
	if q.term != term {
		q.back, q.left, q.waited = nil, 0, 0
	}
	q.giveBack(q.base.Minute, q.base.Day, q.left)
	q.term, q.quota, q.perKey, q.left = term, c.Quota, c.KeyPerMinute, 0
	return true
}

func (q *pool) giveBack(minute, day, count int64) {
	if count <= 0 {
		return
	}
	if n := len(q.back); n > 0 && q.back[n-1].Minute == minute && q.back[n-1].Day == day {
		q.back[n-1].Count += count
		return
	}
	q.back = append(q.back, Return{Minute: minute, Day: day, Count: count})
}

// close empties the pool at the end of a term, and returns what is to be given back.
func (q *pool) close(term int64) []Return {
	if q.term != term {
		return nil
	}
	q.giveBack(q.base.Minute, q.base.Day, q.left)
	back := q.back
	*q = pool{call: q.call}
	return back
}

func (b *Baseline) used() used { return used{minute: b.MinuteUsed, day: b.DayUsed, key: b.KeyUsed} }
