package distributed

import (
	"context"
	"sync"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// mode decides requests in one kind of terms. Its errors are errTermOver, counter.ErrTermOver, and
// those of the durable counters.
type mode interface {
	// take decides count requests, 0 or 1. w is nil if the request does not write.
	take(
		ctx context.Context,
		t cluster.Term,
		c limits.Claim,
		now time.Time,
		count int64,
		w *writing,
	) (limits.Decision, error)
	// refund gives back a request that was admitted in the term.
	refund(ctx context.Context, t cluster.Term, c limits.Claim, d limits.Decision)
}

// Limiter decides exactly, for any number of servers of one cluster.
//
// In a term in which Redis decides, a decision is one script and one round trip. Calls that come
// while another is under way share the next round trip. A refusal is repeated without asking until
// the window ends, the quota changes or a request is refunded.
//
// When half of the servers lose Redis, the cluster changes to a term in which Postgres decides.
// Every server first records what it has admitted. Then each takes small grants of what remains
// from Postgres, and decides from them without asking. Requests wait for Options.Wait between two
// terms, while Postgres does not answer, and while this server alone has lost Redis; then they are
// Undecided.
type Limiter struct {
	options Options
	backend Backend
	reach   *reach
	terms   *termWait
	seen    *seen
	denials *denyCache
	init    *initializer
	intents *intents
	redis   *inRedis
	grants  *inGrants

	closing context.CancelFunc
	running sync.WaitGroup
}

var _ limits.WriteLimiter = (*Limiter)(nil)

// New returns a limiter that starts no goroutine until Start.
func New(b Backend, o Options) *Limiter {
	l := &Limiter{backend: b, seen: newSeen()}
	o.setDefaults()
	l.options = o
	l.reach = newReach(&l.options, b)
	l.terms = &termWait{options: &l.options, reach: l.reach}
	l.denials = &denyCache{seen: l.seen}
	l.init = &initializer{options: &l.options, backend: b, reach: l.reach, seen: l.seen}
	l.intents = newIntents(l.options.Clock)
	l.redis = &inRedis{
		options: &l.options,
		backend: b,
		reach:   l.reach,
		seen:    l.seen,
		denials: l.denials,
		init:    l.init,
		intents: l.intents,
	}
	l.redis.batches.run = l.redis.run
	l.grants = &inGrants{options: &l.options, seen: l.seen, denials: l.denials}
	return l
}

// Start pings Redis, so that the cluster's first renewal can already report it, and starts the
// background work.
func (l *Limiter) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.closing = cancel
	for range 2 {
		l.Ping(ctx)
	}
	l.running.Go(func() { l.reach.pingAlways(ctx) })
	l.running.Go(func() { l.backend.Listen(ctx, l.denials) })
	l.running.Go(func() { l.redis.removeAlways(ctx) })
}

// Close ends the background work, and removes finished write intents. The member must leave the
// cluster too, before or after Close. Close the connection to Redis last.
func (l *Limiter) Close() {
	l.closing()
	l.running.Wait()
	l.backend.Pin("")
}

// Take implements limits.Limiter. An ended context does not stop it: whether a request counts must
// not depend on whether its caller is still there.
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

// decide decides count requests, 0 or 1. w is nil if the request does not write.
func decide(ctx context.Context, l *Limiter, c *limits.Claim, now time.Time, count int64, w *writing) limits.Decision {
	if c.KeyPerMinute <= 0 {
		c.KeyID, c.KeyPerMinute = "", 0 // All keys of a tenant without a limit share their decisions.
	}
	var so waited
	for {
		t, err := l.terms.term(ctx, &so)
		if err != nil {
			return undecided(l, c, now, count)
		}
		claim := *c
		if t.NoMonths {
			claim.Quota.Month = plans.Month{}
		}
		d, err := l.mode(t.Redis).take(ctx, t, claim, now, count, w)
		if err == nil {
			d.Partial = d.Partial || doubtful(&t, &d)
			return d
		}
		if !isTermOver(err) {
			return undecided(l, c, now, count)
		}
		so.over = t.Number
	}
}

// doubtful reports whether a denial may be wrong: a server ended silently in the denial's window,
// and requests that it may have admitted count as used.
func doubtful(t *cluster.Term, d *limits.Decision) bool {
	if d.Admitted || t.SilentUntil.IsZero() || t.Number != d.Term {
		return false
	}
	end := t.SilentUntil.Unix()
	return (d.Minute.Reached || d.Key.Reached) && end >= d.Minute.Reset-60 ||
		d.Day.Reached && end >= d.Day.Reset-86_400 ||
		d.Month.Reached && end >= limits.MonthReset(d.Month.Number-1)
}

// mode returns the mode of a term in which that Redis decides, "" for Postgres.
func (l *Limiter) mode(redis string) mode {
	if redis != "" {
		return l.redis
	}
	return l.grants
}

// undecided decides a request while no term is in force. It refuses the request if this server
// knows one of its windows to be full. Otherwise the request is Undecided: other servers may be
// admitting what remains.
func undecided(l *Limiter, c *limits.Claim, now time.Time, count int64) limits.Decision {
	minute, day, month := limits.MinuteAt(c.TenantID, now), limits.DayAt(now), c.MonthAt(now)
	d := limits.Decide(c, minute, day, month, l.seen.known(c, minute, day, month), count)
	d.Undecided, d.Partial = d.Admitted, !d.Admitted
	return d
}

// InForce implements limits.Limiter. A request decided in an ended term may be missing from what
// was recorded at the term's end.
func (l *Limiter) InForce(d *limits.Decision) bool { return l.options.Cluster.Valid(d.Term) }

// Refund implements limits.Limiter. It needs no lease, since a request may outlast the lease, as
// when Postgres hangs. Counts in Redis and grants belong to a term. Requests of an ended term are
// not given back: it is unknown which count has them.
func (l *Limiter) Refund(ctx context.Context, c limits.Claim, d limits.Decision) {
	t := l.reach.latest()
	if !d.Admitted || t == nil || t.Number != d.Term {
		return
	}
	if d.Key.Limit == 0 {
		c.KeyID, c.KeyPerMinute = "", 0
	}
	l.mode(t.Redis).refund(ctx, *t, c, d)
}

// Degraded reports whether Postgres decides.
func (l *Limiter) Degraded() bool { return l.reach.isDegraded() }

// NoMonths reports whether no month is enforced, because a server of the last release is alive.
func (l *Limiter) NoMonths() bool {
	t, ok := l.options.Cluster.Term()
	return ok && t.NoMonths
}

// CutOff returns why this server can't decide in a term in which Redis does: ErrOtherRedis, or the
// last error of a call. It is nil if this server can decide or Postgres does.
func (l *Limiter) CutOff() error { return l.reach.cutOff() }

// Decides reports whether a term is in force in which this server can decide.
func (l *Limiter) Decides() bool {
	t, ok := l.options.Cluster.Term()
	return ok && (t.Redis == "" || l.reach.valid(&t))
}

// Invalidator returns the invalidator that announces writes to the cluster's servers.
func (l *Limiter) Invalidator() *Invalidator {
	return &Invalidator{
		options: &l.options,
		backend: l.backend,
		reach:   l.reach,
		terms:   l.terms,
		init:    l.init,
		mode:    l.redis,
	}
}

// Ping is one step of the search for a lost Redis. Tests that run step by step call it.
func (l *Limiter) Ping(ctx context.Context) { l.reach.ping(ctx) }

// Lost returns why this server sees no Redis, nil if it sees one.
func (l *Limiter) Lost() error {
	l.reach.mu.Lock()
	defer l.reach.mu.Unlock()
	return l.reach.why
}

// LostIn reports whether this server lost Redis in that term.
func (l *Limiter) LostIn(term int64) bool { return l.reach.lostIn(term) }

// Refunds returns the listener that a Backend reports refunds to.
func (l *Limiter) Refunds() RefundListener { return l.denials }

// retryTerm is the pause before the next look at a term that should be over.
const retryTerm = 2 * time.Millisecond

// termWait finds the term to decide in, and waits for one if necessary.
type termWait struct {
	options *Options
	reach   *reach
}

// waited is how long one request has waited for terms.
type waited struct {
	// over is a term that could not decide, 0 for none. until is the time to give up; it is zero
	// before the first wait.
	over  int64
	until time.Time
}

// term returns the term to decide in.
func (w *termWait) term(ctx context.Context, so *waited) (cluster.Term, error) {
	t, ok := w.options.Cluster.Term()
	if !ok || w.reach.over(t.Number) || t.Number == so.over {
		return w.await(ctx, so)
	}
	w.reach.note(&t)
	return t, nil
}

// await waits for a term that this server can decide in. A term in which it lost Redis ends in a
// moment; one that could not decide is tried again after a pause.
func (w *termWait) await(ctx context.Context, so *waited) (cluster.Term, error) {
	if so.until.IsZero() {
		so.until = w.options.Clock().Add(w.options.Wait)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), so.until)
	defer cancel()
	for {
		if w.options.Cluster.StoreUnreachable() {
			return cluster.Term{}, errStoreUnreachable
		}
		t, err := w.options.Cluster.Await(ctx)
		if err != nil {
			return cluster.Term{}, w.none()
		}
		again := t.Number == so.over
		so.over = 0
		if !again && !w.reach.over(t.Number) {
			w.reach.note(&t)
			return t, nil
		}
		if !w.options.Clock().Before(so.until) {
			return cluster.Term{}, w.none()
		}
		w.options.Sleep(retryTerm)
	}
}

func (w *termWait) none() error {
	if w.options.Cluster.StoreUnreachable() {
		return errStoreUnreachable
	}
	return errNoTerm
}
