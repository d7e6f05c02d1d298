package distributed

import (
	"context"
	"sync"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
)

// mode decides over requests in one kind of terms. Its errors are errTermOver, counter.ErrTermOver, and those of the durable counters.
type mode interface {
	// take decides over count requests, which is 0 or 1. w is nil if the request does not write.
	take(ctx context.Context, t cluster.Term, c limits.Claim, now time.Time, count int64, w *writing) (limits.Decision, error)
	// refund gives back a request that was admitted in the term.
	refund(ctx context.Context, t cluster.Term, c limits.Claim, d limits.Decision)
	// end reports what the server knows at the end of the term. It is called again after an error.
	end(ctx context.Context, t cluster.Term) error
}

// Limiter decides for any number of servers of one cluster, and exactly.
//
// In a term in which Redis decides, a decision is one script and one round trip. Calls that come while another is under way go together
// with the next. A refusal is repeated without asking until the window ends, the quota changes or somebody gives a request back.
//
// When any server loses Redis, however it does, the cluster changes to a term in which Postgres decides. Every server first reports what
// it has seen used. From then on each takes small grants of what remains from Postgres, and decides over them without asking. Requests
// that come between two terms, or while Postgres does not answer, wait for Options.Wait; then they are Undecided. Redis
// decides again when all servers have seen the same one for ten pings.
type Limiter struct {
	// Relayed makes calls to Redis for other servers, and knows whether they do so for this one.
	Relayed *Relayed

	options Options
	// backend is this server's own way to Redis, route the one that its modes call.
	backend Backend
	route   *route
	health  *redisHealth
	terms   *termWait
	view    *localView
	denials *denyCache
	init    *initializer
	intents *intents
	redis   *redisMode
	grants  *grantMode

	closing context.CancelFunc
	running sync.WaitGroup
}

var _ limits.WriteLimiter = (*Limiter)(nil)

// New returns a limiter that does nothing by itself until Start.
func New(b Backend, o Options) *Limiter {
	l := &Limiter{backend: b, view: newLocalView()}
	o.setDefaults()
	l.options = o
	l.health = newRedisHealth(&l.options, b)
	l.terms = &termWait{options: &l.options, health: l.health}
	l.denials = &denyCache{view: l.view}
	l.route = newRoute(b, &l.options, l.health.way)
	l.init = &initializer{options: &l.options, backend: l.route, health: l.health, view: l.view}
	l.intents = newIntents(l.options.Clock)
	l.redis = &redisMode{
		options: &l.options, backend: l.route, health: l.health, view: l.view, denials: l.denials, init: l.init, intents: l.intents,
	}
	l.redis.batches.run = l.redis.run
	l.grants = &grantMode{options: &l.options, view: l.view, denials: l.denials}
	l.Relayed = &Relayed{options: &l.options, backend: b, health: l.health, mode: l.redis}
	o.Cluster.OnEnd(func(ctx context.Context, ended cluster.Term, setBack bool) error {
		return endTerm(ctx, l, ended, setBack)
	})
	return l
}

// Start pings Redis, so that the cluster's first renewal can already tell of it, and begins what runs beside requests.
func (l *Limiter) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.closing = cancel
	for range 2 {
		l.Ping(ctx)
	}
	l.running.Go(func() { l.health.pingAlways(ctx) })
	l.running.Go(func() { l.backend.Listen(ctx, l.denials) })
	l.running.Go(func() { l.redis.reportAlways(ctx) })
	l.running.Go(func() { l.redis.removeAlways(ctx) })
}

// Close ends what runs beside requests, and removes the write intents that are over. The member must leave the cluster, which reports what was seen, before or after it. Close the
// connection to Redis after it.
func (l *Limiter) Close() {
	l.closing()
	l.running.Wait()
	l.backend.Pin("")
}

// Take implements limits.Limiter. An ended context does not stop it: whether a request counts must not depend on whether its caller is
// still there.
func (l *Limiter) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	return decide(ctx, l, &c, now, 1, nil)
}

// TakeWrite implements limits.WriteLimiter.
func (l *Limiter) TakeWrite(ctx context.Context, c limits.Claim, now time.Time) (limits.Decision, limits.Announced) {
	var w writing
	d := decide(ctx, l, &c, now, 1, &w)
	if !d.Admitted || d.Undecided {
		w.release()
	}
	return d, w.announced()
}

// Peek implements limits.Limiter.
func (l *Limiter) Peek(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	return decide(ctx, l, &c, now, 0, nil)
}

// decide decides over count requests, 0 or 1. w is nil if the request does not write.
func decide(ctx context.Context, l *Limiter, c *limits.Claim, now time.Time, count int64, w *writing) limits.Decision {
	if c.KeyPerMinute <= 0 {
		c.KeyID, c.KeyPerMinute = "", 0 // All such keys of a tenant share their decisions.
	}
	var so waited
	for {
		t, err := l.terms.term(ctx, &so)
		if err != nil {
			return undecided(l, c, now, count)
		}
		d, err := l.mode(t.Redis).take(ctx, t, *c, now, count, w)
		if err == nil {
			return d
		}
		if !isTermOver(err) {
			return undecided(l, c, now, count)
		}
		so.over = t.Number
	}
}

// mode returns the one of a term in which that Redis decides, "" for Postgres.
func (l *Limiter) mode(redis string) mode {
	if redis != "" {
		return l.redis
	}
	return l.grants
}

// endTerm reports what this server knows at the end of a term.
func endTerm(ctx context.Context, l *Limiter, ended cluster.Term, setBack bool) error {
	l.route.termEnded()
	if setBack {
		if err := l.options.report(ctx, l.view.all()); err != nil {
			return err
		}
		l.grants.forget(ended)
	}
	return l.mode(ended.Redis).end(ctx, ended)
}

// undecided decides a request for which no term is in force. What this server knows to be full is refused. Otherwise nobody knows whether
// others are admitting what remains.
func undecided(l *Limiter, c *limits.Claim, now time.Time, count int64) limits.Decision {
	minute, day := limits.MinuteAt(c.TenantID, now), limits.DayAt(now)
	d := limits.Decide(c, minute, day, l.view.known(c, minute, day), count)
	d.Undecided, d.Partial = d.Admitted, !d.Admitted
	return d
}

// InForce implements limits.Limiter. A request of a term that is over may be missing in what was recorded at its end.
func (l *Limiter) InForce(d *limits.Decision) bool { return l.options.Cluster.Valid(d.Term) }

// Refund implements limits.Limiter. It needs no lease: a request may end after it, as when Postgres hangs. What is counted in Redis and what
// is left of a grant belong to a term. What was decided in a term that is over is not given back: nobody knows any more in which count
// it is.
func (l *Limiter) Refund(ctx context.Context, c limits.Claim, d limits.Decision) {
	t := l.health.latest()
	if !d.Admitted || t == nil || t.Number != d.Term {
		return
	}
	if d.Key.Limit == 0 {
		c.KeyID, c.KeyPerMinute = "", 0
	}
	l.mode(t.Redis).refund(ctx, *t, c, d)
}

// Degraded reports whether anybody but Redis decides.
func (l *Limiter) Degraded() bool { return l.health.isDegraded() }

// Decides reports whether a term is in force in which this server can decide.
func (l *Limiter) Decides() bool {
	t, ok := l.options.Cluster.Term()
	return ok && !l.health.lostIn(t.Number)
}

// Invalidator returns what announces writes to the cluster's servers.
func (l *Limiter) Invalidator() *Invalidator {
	return &Invalidator{options: &l.options, backend: l.route, health: l.health, terms: l.terms, init: l.init, mode: l.redis}
}

// Ping is one step of the search for a lost Redis, for tests that run step by step.
func (l *Limiter) Ping(ctx context.Context) { l.health.ping(ctx) }

// ReportIdle is one step of the reports in the middle of a term, for tests that run step by step.
func (l *Limiter) ReportIdle(ctx context.Context) { l.redis.reportIdle(ctx, 0) }

// LostIn reports whether this server lost Redis in that term.
func (l *Limiter) LostIn(term int64) bool { return l.health.lostIn(term) }

// Refunds returns what a Backend tells of refunds.
func (l *Limiter) Refunds() RefundListener { return l.denials }
