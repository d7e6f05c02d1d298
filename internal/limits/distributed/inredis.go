package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// inRedis decides in terms in which Redis does.
type inRedis struct {
	options *Options
	backend Backend
	reach   *reach
	seen    *seen
	denials *denyCache
	init    *initializer
	intents *intents
	batches batches
}

// take implements mode.
func (m *inRedis) take(
	ctx context.Context,
	t cluster.Term,
	c limits.Claim,
	now time.Time,
	count int64,
	w *writing,
) (limits.Decision, error) {
	w.release()
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	// A caller that only looks asks for the state of all windows. A denial by one of them says
	// nothing new of the others.
	if count > 0 {
		if d, denied := m.denials.denied(t.Number, m.denials.session.Load(), &c, minute, day, now); denied {
			return d, nil
		}
	}
	r := Request{Claim: c, Minute: minute, Day: day, Count: count}
	if w != nil {
		if w.intent = m.intents.share(t.Number, c.TenantID, 1, 0); w.intent == nil {
			r.Writes = 1
		}
	}
	for waited := time.Duration(0); ; waited += initPause {
		// What Redis had before a request is sent, it has lost if it replies that it has not. Asked
		// after the reply, a later batch could answer.
		had := waited > 0 && m.hasReplied(t.Number, c.TenantID)
		term, position := m.send(&r, now)
		if r.intent != nil {
			w.intent, r.intent, r.Writes = r.intent, nil, 0
		}
		if term != 0 && r.Status == Counted {
			return r.decision(term, position, count), nil
		}
		if term != t.Number {
			return limits.Decision{}, errTermOver
		}
		known, err := m.init.initialize(ctx, &t, &r, now)
		if err != nil {
			return limits.Decision{}, err
		}
		if known && (had || waited >= m.options.initTime()) {
			m.reach.lose(t.Number, errForgotten)
			return limits.Decision{}, errTermOver
		}
		if known && waited > 0 {
			m.options.Sleep(initPause)
		}
		r.Count, r.Reply = count, Reply{}
	}
}

// send lets a request go with the next batch, and alone if nothing is to be counted. It returns the
// term in which the reply counts, 0 for none, and how many requests of the same claim come before
// it.
func (m *inRedis) send(r *Request, now time.Time) (term, position int64) {
	if r.Count > 0 {
		return m.batches.do(r, now)
	}
	requests := []Request{*r}
	term = m.run(requests, now)
	r.Reply = requests[0].Reply
	return term, 0
}

// run calls Redis in the term in force, if Redis decides in it. It returns the term in which all
// the replies count, 0 for none.
func (m *inRedis) run(requests []Request, now time.Time) (term int64) {
	t, ok := m.options.Cluster.Term()
	if !ok || t.Redis == "" || m.reach.over(t.Number) {
		return 0
	}
	// Read before the call: a refund that comes after the script ran must not be missed.
	refunds, session := m.denials.refunds.Load(), m.denials.session.Load()
	began := m.options.Clock()
	over := m.intents.takeOver(t.Number)
	if m.reach.call(t.Number, func() error { return m.backend.Take(t.Number, over, requests) }) != nil {
		return 0
	}
	if !m.reach.valid(&t) {
		if m.options.Cluster.Valid(t.Number) {
			m.reach.lose(t.Number, ErrOtherRedis)
		}
		return 0
	}
	for i := range requests {
		var n *denial
		if m.denials.refunds.Load() == refunds {
			n = &denial{session: session, at: now}
		}
		if !m.accept(t.Number, &requests[i], n) {
			return 0
		}
		if r := &requests[i]; r.Intent > 0 {
			r.intent = m.intents.add(intent{
				term: t.Number, tenantID: r.Claim.TenantID, version: r.Intent, left: began, held: int(r.Writes),
			})
		}
	}
	return t.Number
}

// accept records a reply, and reports whether it still counts. If it denies requests they are
// remembered as n, unless n is nil.
func (m *inRedis) accept(term int64, r *Request, n *denial) bool {
	s := m.seen.shard(r.Claim.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.options.Cluster.Valid(term) {
		return false
	}
	if r.Status != Counted {
		return true
	}
	a := s.tenant(r.Claim.TenantID, r.InDay)
	u, fits := r.after()
	a.observe(term, r.InMinute, r.InDay, u)
	st := a.claims(&r.Claim)
	if r.Claim.KeyPerMinute > 0 {
		st.observe(term, r.InMinute, u.Key)
	}
	if n != nil && fits < r.Count {
		n.term, n.minute, n.day, n.used = term, r.InMinute, r.InDay, u
		n.quota, n.perKey = r.Claim.Quota, r.Claim.KeyPerMinute
		st.denial = *n
	}
	return true
}

// hasReplied reports whether Redis has counted for the tenant in a term.
func (m *inRedis) hasReplied(term, tenantID int64) bool {
	s := m.seen.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[tenantID]
	return ok && a.term == term
}

// decision returns the result of one of a Request's requests. They count in the order in which they
// came.
func (r *Request) decision(term, position, count int64) limits.Decision {
	_, fits := r.after()
	u := r.Used.Plus(min(position, fits))
	d := limits.Decide(&r.Claim, r.InMinute, r.InDay, u, count)
	d.Term = term // It may have begun after the request arrived.
	if r.Version != 0 {
		d.Stamp = freshness.Stamp(term<<32 | r.Version)
	}
	return d
}

// refund implements mode. A call whose reply is lost is not repeated: then the request stays
// counted.
func (m *inRedis) refund(ctx context.Context, t cluster.Term, c limits.Claim, d limits.Decision) {
	if m.reach.over(t.Number) {
		return
	}
	ctx, cancel := m.options.bounded(ctx)
	defer cancel()
	_ = m.backend.Refund(ctx, t.Number, &c, d.Minute.Number, d.Day.Number)
	m.denials.Refunded(c.TenantID)
}
