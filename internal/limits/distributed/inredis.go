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
	minute, day, month := limits.MinuteAt(c.TenantID, now), limits.DayAt(now), c.MonthAt(now)
	// A request that only looks asks for the state of all windows; a denial knows nothing new of
	// those that are not full.
	if count > 0 {
		if d, denied := m.denials.denied(t.Number, m.denials.session.Load(), &c, minute, day, month, now); denied {
			return d, nil
		}
	}
	r := Request{Claim: c, Minute: minute, Day: day, Month: month, Count: count}
	if w != nil {
		if w.intent = m.intents.share(t.Number, c.TenantID, 1, 0); w.intent == nil {
			r.Writes = 1
		}
	}
	for waited := time.Duration(0); ; waited += initPause {
		// Redis has lost the tenant's counts if it had them before the request was sent and then
		// replies that it has none. So had is read before: a batch that is sent later may have set
		// it by the time of the reply.
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

// send sends a request with the next batch, or alone if it counts nothing. It returns the term in
// which the reply counts, 0 for none, and the number of requests of the same claim before it.
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
	// This is read before the call, so that a refund after the script ran is not missed.
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

// accept records a reply, and reports whether it still counts. It remembers denied requests as n,
// unless n is nil.
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
	a.observe(term, r.InMinute, r.InDay, r.InMonth, u)
	st := a.claims(&r.Claim)
	if r.Claim.KeyPerMinute > 0 {
		st.observe(term, r.InMinute, u.Key)
	}
	if n != nil && fits < r.Count {
		n.term, n.minute, n.day, n.month, n.used = term, r.InMinute, r.InDay, r.InMonth, u
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

// decision returns the result for one request of a Request. They count in order of arrival.
func (r *Request) decision(term, position, count int64) limits.Decision {
	_, fits := r.after()
	u := r.Used.Plus(&r.Claim, min(position, fits))
	d := limits.Decide(&r.Claim, r.InMinute, r.InDay, r.InMonth, u, count)
	d.Term = term // The term may differ from the one in force when the request arrived.
	if r.Version != 0 {
		d.Stamp = freshness.Stamp(term<<32 | r.Version)
	}
	return d
}

// refund implements mode. A call whose reply is lost is not repeated; the request then stays
// counted.
func (m *inRedis) refund(ctx context.Context, t cluster.Term, c limits.Claim, d limits.Decision) {
	if m.reach.over(t.Number) {
		return
	}
	ctx, cancel := m.options.bounded(ctx)
	defer cancel()
	_ = m.backend.Refund(ctx, t.Number, &c, d.Minute.Number, d.Day.Number, d.Month.Number)
	m.denials.Refunded(c.TenantID)
}
