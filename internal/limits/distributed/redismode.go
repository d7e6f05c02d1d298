package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// learnTries is how often a refusal asks the durable counters. It waits if others ask for the tenant, who may ask for another key.
const learnTries = 3

// redisMode decides in terms in which Redis does.
type redisMode struct {
	options *Options
	backend Backend
	health  *redisHealth
	view    *localView
	denials *denyCache
	init    *initializer
	intents *intents
	batches batches
}

// take implements mode.
func (m *redisMode) take(ctx context.Context, t cluster.Term, c limits.Claim, now time.Time, count int64, w *writing) (limits.Decision, error) {
	w.release()
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	// A caller that only looks asks for the state of all windows. A denial by one of them says nothing new of the others.
	if count > 0 {
		if d, u, denied := m.denials.denied(t.Number, m.denials.session.Load(), &c, minute, day, now); denied {
			m.doubt(ctx, &t, &c, &d, u, now)
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
		term, position := m.send(&r, now)
		if r.intent != nil {
			w.intent, r.intent, r.Writes = r.intent, nil, 0
		}
		if term != 0 && r.Status == Counted {
			d, u := r.decision(term, position, count)
			if !d.Admitted && count > 0 {
				if term != t.Number {
					return limits.Decision{}, errTermOver // Nothing was counted, and what is unknown in the new term is not in t.
				}
				m.doubt(ctx, &t, &c, &d, u, now)
			}
			return d, nil
		}
		if term != t.Number {
			return limits.Decision{}, errTermOver
		}
		known, err := m.init.initialize(ctx, &t, &r, now)
		if err != nil {
			return limits.Decision{}, err
		}
		// The first reply may be from before the tenant was initialized.
		if known && (waited >= initTime || waited > 0 && m.hasReplied(t.Number, c.TenantID)) {
			m.health.lose(t.Number, errForgotten)
			return limits.Decision{}, errTermOver
		}
		if known && waited > 0 {
			m.options.Sleep(initPause)
		}
		r.Count, r.Reply = count, Reply{}
	}
}

// send lets a request go with the next batch, and alone if nothing is to be counted. It returns the term in which the reply counts, 0 for
// none, and how many requests of the same claim come before it.
func (m *redisMode) send(r *Request, now time.Time) (term, position int64) {
	if r.Count > 0 {
		return m.batches.do(r, now)
	}
	requests := []Request{*r}
	term = m.run(requests, now)
	r.Reply = requests[0].Reply
	return term, 0
}

// run calls Redis in the term in force, if Redis decides in it. It returns the term in which all the replies count, 0 for none.
func (m *redisMode) run(requests []Request, now time.Time) (term int64) {
	t, ok := m.options.Cluster.Term()
	if !ok || t.Redis == "" || m.health.over(t.Number) {
		return 0
	}
	// Read before the call: a refund that comes after the script ran must not be missed.
	refunds, session := m.denials.refunds.Load(), m.denials.session.Load()
	began := m.options.Clock()
	if err := m.backend.Take(t.Number, m.intents.takeOver(t.Number), requests); err != nil {
		m.health.lose(t.Number, err)
		return 0
	}
	if !m.health.valid(&t) {
		if m.options.Cluster.Valid(t.Number) {
			m.health.lose(t.Number, errOtherRedis)
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

// accept records a reply, and reports whether it still counts. If it denies requests they are remembered as n, unless n is nil.
func (m *redisMode) accept(term int64, r *Request, n *denial) bool {
	s := m.view.shard(r.Claim.TenantID)
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
func (m *redisMode) hasReplied(term, tenantID int64) bool {
	s := m.view.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[tenantID]
	return ok && a.term == term
}

// decision returns the result of one of a Request's requests, and what was used before it. They count in the order in which they came.
func (r *Request) decision(term, position, count int64) (limits.Decision, limits.Used) {
	_, fits := r.after()
	u := r.Used.Plus(min(position, fits))
	d := limits.Decide(&r.Claim, r.InMinute, r.InDay, u, count)
	d.Term = term // It may have begun after the request arrived.
	if r.Version != 0 {
		d.Stamp = freshness.Stamp(term<<32 | r.Version)
	}
	return d, u
}

// doubt makes a refusal undecided if what a silent server may have admitted fills the window. Redis does not know how much of its count
// that is. So the first refusal of a tenant, and of a key, in a term asks the durable counters, if a server has ended silently on that day.
// If they don't answer, the next one does.
func (m *redisMode) doubt(ctx context.Context, t *cluster.Term, c *limits.Claim, d *limits.Decision, u limits.Used, now time.Time) {
	if t.Number != d.Term || t.UncleanUntil.IsZero() ||
		limits.DayAt(t.UncleanUntil) < d.Day.Number && limits.MinuteAt(c.TenantID, t.UncleanUntil) < d.Minute.Number {
		return
	}
	for range learnTries {
		if m.doubtKnown(d, c, u) {
			return
		}
		if m.init.learn(ctx, t, c, now) != nil {
			break
		}
	}
	d.Partial = !m.doubtKnown(d, c, u)
}

// doubtKnown is doubt without asking. It returns false if the durable counters have not been asked in the term.
func (m *redisMode) doubtKnown(d *limits.Decision, c *limits.Claim, u limits.Used) bool {
	s := m.view.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[c.TenantID]
	if !ok {
		return false
	}
	st := a.claims(c)
	if !a.knowsUnknown(d.Term, st, d) {
		return false
	}
	a.doubt(d.Term, st, d, u)
	return true
}

// refund implements mode. A call whose reply is lost is not repeated.
func (m *redisMode) refund(ctx context.Context, t cluster.Term, c limits.Claim, d limits.Decision) {
	if m.health.over(t.Number) {
		return
	}
	ctx, cancel := m.options.bounded(ctx)
	defer cancel()
	if err := m.backend.Refund(ctx, t.Number, &c, d.Minute.Number, d.Day.Number); err != nil {
		m.health.lose(t.Number, err)
	}
	m.denials.Refunded(c.TenantID)
}

// end implements mode. It reports what was seen used and has not been reported, until the report has succeeded.
func (m *redisMode) end(ctx context.Context, t cluster.Term) error {
	reports, _ := m.view.unreported(t.Number)
	if err := m.options.report(ctx, reports); err != nil {
		return err
	}
	m.view.each(func(_ int64, a *tenantState) {
		if a.term == t.Number {
			a.term = 0
		}
		for _, st := range a.keys {
			if st.term == t.Number {
				st.term = 0
			}
		}
	})
	return nil
}
