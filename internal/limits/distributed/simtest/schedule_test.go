package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
)

// simTotals is what was done and checked.
type simTotals struct {
	requests, admitted, refused, refunds, restarts, waits int
	// wronglyRefused are those of the refused for which every window had room, setBacks how often
	// Postgres was set back, checked how often of these every limit was checked all the same.
	wronglyRefused, setBacks, checked int
	// writes were acknowledged, again were late and announced again, cached is how many lists came
	// from a cache.
	writes, again, cached int
	// unavailable counts answers of 503: nothing was admitted.
	unavailable   int
	faults        [simFaultKinds]int
	exact, atMost int // windows
	// monthEnds counts the ends of months that were met, inTrouble those beside a disturbance.
	monthEnds, inTrouble int
	terms                int64
}

func (t *simTotals) add(o *simTotals) {
	t.requests += o.requests
	t.admitted += o.admitted
	t.refused += o.refused
	t.refunds += o.refunds
	t.restarts += o.restarts
	t.waits += o.waits
	t.wronglyRefused += o.wronglyRefused
	t.setBacks += o.setBacks
	t.checked += o.checked
	t.writes += o.writes
	t.again += o.again
	t.cached += o.cached
	t.unavailable += o.unavailable
	for i, n := range o.faults {
		t.faults[i] += n
	}
	t.exact += o.exact
	t.atMost += o.atMost
	t.monthEnds += o.monthEnds
	t.inTrouble += o.inTrouble
	t.terms += o.terms
}

// simNoon is in the middle of the last day of a month that is long to come: no limit of real time is
// reached.
var simNoon = time.Date(2046, 11, 30, 12, 0, 0, 0, time.UTC)

// simStart is shortly before the end of the month for half of the schedules, and in the middle of
// the day for the others. So for these a month is as long as a few minutes.
func simStart(random *rand.Rand) time.Time {
	if random.IntN(2) == 0 {
		return simNoon.Add(12*time.Hour - time.Duration(random.Int64N(int64(3*time.Minute))))
	}
	return simNoon.Add(time.Duration(random.Int64N(int64(time.Hour))))
}

// newSimulation returns a cluster that has settled on its Redis.
func newSimulation(seed, schedule uint64, p planted, trace func(string)) *simulation {
	random := rand.New(rand.NewPCG(seed, schedule))
	s := &simulation{
		random:     random,
		aside:      rand.New(rand.NewPCG(schedule, seed)),
		now:        simStart(random),
		oracle:     newSimOracle(),
		catalogues: map[int64]*simCatalogue{},
		highest:    map[simDay]int64{},
		planted:    p,
		trace:      trace,
	}
	s.postgres = newSimPostgres(s.highest, func() time.Time { return s.now })
	s.redis = newSimRedis(func() time.Time { return s.now })
	s.redis.took = s.oracle.took
	s.postgres.planted, s.postgres.began = p, s.oracle.began
	s.redis.carriesNothing, s.redis.refundsAnyMonth = p == plantedNoCarry, p == plantedRefundInAnyMonth
	for id := range 1 + random.Int64N(3) {
		t := &simTenant{id: 1 + id, quota: simQuota(random)}
		for k := range 1 + random.IntN(2) {
			t.keys = append(t.keys, simLimit{fmt.Sprint("key_", k), simKeyLimit(random)})
		}
		s.tenants = append(s.tenants, t)
	}
	for range 1 + min(random.IntN(9), random.IntN(9)) {
		s.join()
	}
	s.redis.overwritesLater = p == plantedLaterOverwritten
	s.redis.leavesNoIntent, s.redis.removesIntents = p == plantedIntentNotLeft, p == plantedIntentRemoved
	s.postgres.dump = s.postgres.save(s.now)
	s.oracle.disturbed = s.now
	s.month = limits.MonthAt(s.now)
	return s
}

func simQuota(random *rand.Rand) plans.Quota {
	q := plans.Quota{PerMinute: 1 + random.Int64N(15)}
	q.PerDay = q.PerMinute * (1 + random.Int64N(6))
	if random.IntN(3) > 0 {
		q.Month = limitstest.Month(random, q.PerDay*2)
	}
	return q
}

// simKeyLimit is none for half of the keys. It stays or is another, but never none again: what a
// key used meanwhile would not be counted.
func simKeyLimit(random *rand.Rand) int64 { return max(0, random.Int64N(12)-5) }

// run does some steps, ends all faults, and then checks that the limits are exact.
func (s *simulation) run(steps int, faults bool) {
	for range steps {
		if s.oracle.violation != "" {
			return
		}
		s.step(faults)
		s.writeSteps()
		if month := limits.MonthAt(s.now); month != s.month {
			s.month = month
			s.totals.monthEnds++
			if s.now.Sub(s.oracle.disturbed) < 10*time.Second {
				s.totals.inTrouble++
			}
		}
	}
	s.recover()
	s.totals.terms = s.postgres.terms
	for _, c := range s.oracle.counts {
		if c.exact {
			s.totals.exact++
		} else {
			s.totals.atMost++
		}
	}
}

func (s *simulation) step(faults bool) {
	r := s.random
	switch n := r.IntN(100); {
	case n < 40:
		s.burst(1 + r.IntN(14))
	case n < 55:
		s.advance(s.now.Add(time.Duration(r.Int64N(int64(time.Second)))))
	case n < 63:
		s.advance(s.now.Add(time.Duration(r.Int64N(int64(20 * time.Second)))))
	case n < 70:
		s.toAnEdge()
	case n < 78:
		s.refund()
	case n < 82:
		s.changePlan()
	case n < 84:
		s.restart(s.node())
	case n < 86:
		s.scale()
	case n < 88:
		s.redis.old = s.redis.data.clone()
		s.postgres.dump = s.postgres.save(s.now)
	case faults:
		s.strike()
	default:
		s.burst(1 + r.IntN(14))
	}
}

// toAnEdge goes to the end of some tenant's minute, of the day or of the month, or a tick before.
func (s *simulation) toAnEdge() {
	t := s.tenants[s.random.IntN(len(s.tenants))]
	at := time.Unix(limits.MinuteReset(t.id, limits.MinuteAt(t.id, s.now)), 0)
	switch s.random.IntN(10) {
	case 0:
		at = time.Unix(limits.DayReset(limits.DayAt(s.now)), 0)
	case 1:
		at = time.Unix(limits.MonthReset(limits.MonthAt(s.now)), 0)
	}
	if s.skip(at); at.Sub(s.now) > time.Minute {
		return // Something is wrong: days are too many steps.
	}
	s.advance(at.Add(-time.Duration(s.random.IntN(2))))
}

// scale adds a server or takes one away.
func (s *simulation) scale() {
	if len(s.nodes) < 9 && s.random.IntN(2) == 0 && !s.postgres.away {
		s.join()
		return
	}
	if n := s.node(); len(s.nodes) > 1 && !n.frozen && n.waiting == 0 && !n.renewing {
		s.tracef("%s leaves", n.id)
		n.waiting, n.renewing = 1, true
		n.meter.end()
		_ = n.member.Leave(context.Background())
		s.remove(n)
	}
	if len(s.nodes) == 0 {
		s.join() // The other one was killed meanwhile.
	}
}

func (s *simulation) changePlan() {
	t := s.tenants[s.random.IntN(len(s.tenants))]
	if s.random.IntN(3) > 0 {
		t.quota = simQuota(s.random)
		s.tracef("tenant %d: %+v", t.id, t.quota)
		return
	}
	if k := &t.keys[s.random.IntN(len(t.keys))]; k.perMinute > 0 {
		k.perMinute = 1 + s.random.Int64N(6)
		s.tracef("tenant %d: %+v", t.id, *k)
	}
}

// node is any server; a few get most of the load.
func (s *simulation) node() *simNode {
	sum := 0
	for _, n := range s.nodes {
		sum += n.weight * n.weight
	}
	at := s.random.IntN(sum)
	for _, n := range s.nodes {
		if at -= n.weight * n.weight; at < 0 {
			return n
		}
	}
	return s.nodes[0]
}

// claim is one of the tenant's, at its present limits.
func (s *simulation) claim(t *simTenant) limits.Claim {
	k := t.keys[s.random.IntN(len(t.keys))]
	for _, at := range []time.Time{s.now, s.now.Add(simSkew)} {
		for _, d := range []simDay{{tenant: t.id, day: limits.DayAt(at)}, {tenant: t.id, month: limits.MonthAt(at)}} {
			s.highest[d] = max(s.highest[d], t.quota.PerMinute)
		}
	}
	return limits.Claim{TenantID: t.id, KeyID: k.id, Quota: t.quota, KeyPerMinute: k.perMinute}
}

// burst is some requests of one tenant, mostly to one server.
func (s *simulation) burst(n int) {
	t := s.tenants[s.random.IntN(len(s.tenants))]
	to := s.node()
	for range n {
		if s.random.IntN(3) == 0 {
			to = s.node()
		}
		if s.random.IntN(8) == 0 {
			s.advance(s.now.Add(time.Duration(s.random.Int64N(int64(100 * time.Millisecond)))))
		}
		c := s.claim(t)
		d, answered := s.request(to, c, s.random.IntN(10) == 0)
		if answered && !d.Admitted && s.random.IntN(12) == 0 {
			s.wait(c, d)
		}
		if to.dead || s.oracle.violation != "" {
			return
		}
	}
}

func (s *simulation) anyRequest() {
	if s.aside.IntN(3) == 0 {
		s.writeSteps()
	}
	if n := s.node(); n != nil {
		s.request(n, s.claim(s.tenants[s.random.IntN(len(s.tenants))]), false)
	}
}

// request sends one to a server. It gets no answer if the server can't give one, or dies meanwhile.
func (s *simulation) request(n *simNode, c limits.Claim, look bool) (limits.Decision, bool) {
	if n.waiting > 0 || n.frozen || n.dead {
		return limits.Decision{}, false
	}
	s.begun++
	at, begun, came, quiet := n.clock(), s.begun, s.now, s.depth == 0 && s.settled()
	before := s.held(&c)
	n.waiting++
	known := s.catalogue(c.TenantID).known
	var announced limits.Announced
	decide, writes := s.taker(n, look, &announced)
	d, ok := limits.Decision{}, true
	for range 3 {
		d = decide(context.Background(), c, at)
		again := false
		if ok = true; d.Admitted && !d.Undecided && !look && !n.dead {
			ok, again = n.admit(&c, &d)
		}
		if !again {
			break
		}
	}
	n.waiting--
	if n.dead {
		return d, false
	}
	if !ok {
		release(announced)
		s.totals.unavailable++
		return d, false
	}
	s.look()
	term, _ := n.member.Term()
	s.totals.requests++
	if d.Undecided {
		s.traceReply(n, 0, &c, &d, look)
		// It ends in 503, whatever it was, and is given back.
		s.totals.unavailable++
		if !look {
			n.limiter.Refund(context.Background(), c, d)
		}
		return d, false
	}
	overtaken := s.depth > 0 || s.begun != begun
	s.traceReply(n, term.Number, &c, &d, look)
	if !d.Admitted && !look && !s.oracle.full(&c, &d) {
		s.totals.wronglyRefused++
	}
	if d.Partial {
		s.totals.refused++
		return d, false
	}
	s.oracle.answered(&simReply{
		server:    n.number,
		term:      term.Number,
		redis:     term.Redis != "",
		claim:     c,
		d:         d,
		at:        at,
		left:      s.now,
		looked:    look,
		overtaken: overtaken,
	})
	if !d.Admitted {
		s.totals.refused++
	}
	if !d.Admitted || look {
		if quiet && !overtaken && s.oracle.disturbed.Before(came) {
			s.unchanged(&c, before)
		}
		return d, true
	}
	s.totals.admitted++
	if writes {
		s.writes = append(s.writes, &simWrite{n: n, tenantID: c.TenantID, announced: announced})
	} else {
		s.list(n, c.TenantID, d.Stamp, known)
	}
	s.given = append(s.given, simGiven{n, c, d})
	if len(s.given) > 40 {
		s.given = s.given[1:]
	}
	return d, true
}

func (s *simulation) traceReply(n *simNode, term int64, c *limits.Claim, d *limits.Decision, look bool) {
	if s.trace == nil {
		return
	}
	line := fmt.Sprintf("%s in term %d, tenant %d %s:", n.id, term, c.TenantID, c.KeyID)
	windows, count := d.Windows()
	for _, w := range windows[:count] {
		line += fmt.Sprintf(" %s %d %d of %d,", w.Name, w.Number%1000, w.Remaining, w.Limit)
	}
	s.tracef("%s admitted %v, partial %v, undecided %v, looked %v", line, d.Admitted, d.Partial, d.Undecided, look)
}

// simHeld is what Redis has of a claim, in whatever windows.
type simHeld struct {
	tenant simCounts
	key    int64
	begun  bool // the key's minute
}

func (s *simulation) held(c *limits.Claim) simHeld {
	h := s.redis.data.tenants[c.TenantID]
	used, begun := h.key(c.KeyID)
	return simHeld{h.simCounts, used, begun}
}

// unchanged checks that Redis is as it was before a request that was refused, or was only looked
// at, unless that was the first of the tenant or of the key in the term.
func (s *simulation) unchanged(c *limits.Claim, before simHeld) {
	after := s.held(c)
	began := before.tenant.term != after.tenant.term || before.begun != after.begun
	if !began && before != after {
		s.oracle.violate("a request that was not admitted changed %+v to %+v", before, after)
	}
}

// wait tries Retry-After: a tick before its end the request is refused, at its end it passes. It
// checks nothing if a fault happens meanwhile.
func (s *simulation) wait(c limits.Claim, d limits.Decision) {
	if s.depth > 0 || !s.settled() || len(s.faults)+len(s.armed) > 0 {
		return
	}
	n, began, full := s.node(), s.now, d.Binding()
	// A server that does not hear of a refund repeats a refusal for a second.
	if w := s.oracle.count(of(&c, &full)); w.loosened > 0 && w.used < full.Limit {
		return
	}
	end := time.Unix(full.Reset, 0).Add(-n.skew)
	if end.Sub(s.now) > 2*time.Minute || end.Add(-1).Before(s.now) {
		return
	}
	s.advance(end.Add(-1))
	early, answered := s.request(n, c, false)
	if early.Undecided || early.Partial {
		return // Nobody knows what a silent server admitted.
	}
	// By a clock that is ahead, or while others were served, the next minute may have begun.
	held := s.redis.data.tenants[c.TenantID]
	begun := held.minute > limits.MinuteAt(c.TenantID, n.clock()) || held.day > limits.DayAt(n.clock()) ||
		held.month > limits.MonthAt(n.clock()) ||
		!s.now.Before(end)
	if !s.oracle.disturbed.Before(began) || !s.oracle.months(s.now) {
		return
	}
	if !answered || early.Admitted && !begun {
		s.oracle.violate("refused until %v, and passes before: %+v", end, early)
	}
	s.advance(end)
	late, answered := s.request(n, c, false)
	if !s.oracle.disturbed.Before(began) || late.Undecided || late.Partial {
		return
	}
	// The other windows may be full for good after a disturbance.
	if !answered ||
		!late.Admitted && late.Binding().Number == d.Binding().Number && late.Binding().Name == d.Binding().Name {
		s.oracle.violate("refused until %v, and refused then: %+v", end, late)
	}
	s.totals.waits++
}

// refund makes an admitted request end in 5xx.
func (s *simulation) refund() {
	if len(s.given) == 0 {
		return
	}
	i := s.random.IntN(len(s.given))
	g := s.given[i]
	if g.n.waiting > 0 || g.n.frozen {
		return
	}
	s.given = slices.Delete(slices.Clone(s.given), i, i+1)
	s.tracef("%s refunds %+v %+v", g.n.id, g.claim, g.d)
	s.oracle.refunded(&g.claim, &g.d)
	s.oracle.refunding = true
	g.n.waiting++
	g.n.limiter.Refund(context.Background(), g.claim, g.d)
	g.n.waiting--
	s.oracle.refunding = false
	g.n.meter.count(&g.claim, &g.d, -1)
	s.totals.refunds++
}

// recover ends all faults, and checks that the cluster settles and is exact in the next minute.
func (s *simulation) recover() {
	s.armed = nil
	for _, f := range s.faults {
		f.end()
	}
	s.faults = nil
	for began := s.now; !s.settled() && s.oracle.violation == ""; {
		s.burst(3) // A flush is found out by the next request of each tenant.
		s.advance(s.now.Add(time.Second))
		if s.now.Sub(began) > 3*time.Minute && !s.settled() {
			if s.flushUnnoticed() {
				return // Every request is refused without asking.
			}
			s.oracle.violate("it has not settled after %v: %+v", s.now.Sub(began), s.postgres.state)
		}
	}
	for _, t := range s.tenants {
		s.advance(time.Unix(limits.MinuteReset(t.id, limits.MinuteAt(t.id, s.now)), 0).Add(2 * simSkew))
		for range t.quota.PerMinute + 2 {
			if s.oracle.violation != "" {
				return
			}
			s.request(s.node(), s.claim(t), false)
		}
	}
}
