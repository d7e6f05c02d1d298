package plans

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/freshness"
)

// redisTimeout bounds one call to Redis and everything in it: the wait for a connection, the dial, the reply.
const redisTimeout = 100 * time.Millisecond

func timeoutOr(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return redisTimeout
	}
	return timeout
}

// RedisOptions is what a Redis limiter needs beside Redis. Cluster and CounterStore are required.
type RedisOptions struct {
	// Cluster tells who decides: Redis or Postgres.
	Cluster Cluster
	// Counters is what the servers share in Postgres.
	Counters CounterStore
	// Log receives one line when Redis no longer decides and one when it does again.
	Log zerolog.Logger
	// Timeout bounds one call to Redis and everything in it, 100 ms by default.
	Timeout time.Duration
	// ProbeEvery is the pause between attempts to reach a lost Redis, 100 ms by default.
	ProbeEvery time.Duration
	// Wait is how long a request waits for a term to begin, beside what it waited for Redis: 250 ms by default; less than 0 for
	// not at all.
	Wait time.Duration
}

// Redis decides for any number of servers that are of one cluster, and exactly.
//
// In a term in which Redis decides, a decision is one script and one round trip; calls that come while another is under
// way go together with the next. What was refused is refused without asking until the window ends, the quota changes or
// somebody gives a request back.
//
// When any server loses Redis, however it does, the cluster changes to a term in which Postgres decides. Every server first tells
// what it has seen used. From then on each takes small grants of what remains from Postgres, and decides over them without
// asking. Requests that come between two terms wait for Wait; then they are refused as Undecided. When Postgres does not answer
// either they are admitted as Undecided. Redis decides again when all servers have seen the same one for ten probes.
type Redis struct {
	counters     counters
	options      RedisOptions
	cluster      Cluster
	counterStore CounterStore
	ledger       *ledger
	flights      flights
	health       health

	// refunds counts what was given back anywhere; session numbers the subscription by which this server hears of it, 0 when
	// there is none.
	refunds, session atomic.Int64

	// What tests replace, so that they run step by step.
	clock func() time.Time
	pause func(time.Duration)
	spawn func(func())

	closing context.CancelFunc
	running sync.WaitGroup
}

var (
	_ Limiter               = (*Redis)(nil)
	_ freshness.Invalidator = (*Redis)(nil)
)

// NewRedis returns a limiter over that client, which stays the caller's to close after the limiter. It tries Redis once or
// twice before it returns, so that the cluster's first renewal can already tell of it.
func NewRedis(client *RedisClient, o RedisOptions) *Redis {
	r := newRedis(newRedisCounters(client), o)
	r.run(client)
	return r
}

// run starts what runs beside requests.
func (r *Redis) run(client *RedisClient) {
	ctx, cancel := context.WithCancel(context.Background())
	r.closing = cancel
	r.spawn = r.running.Go
	r.start(ctx)
	r.running.Go(func() { r.probeAlways(ctx) })
	r.running.Go(func() { client.hearRefunds(ctx, r) })
}

// newRedis returns a limiter that does nothing by itself: start and step are up to the caller.
func newRedis(c counters, o RedisOptions) *Redis {
	o.Timeout = timeoutOr(o.Timeout)
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = 100 * time.Millisecond
	}
	if o.Wait == 0 {
		o.Wait = 250 * time.Millisecond
	}
	r := &Redis{
		counters: c, options: o, cluster: o.Cluster, counterStore: o.Counters, ledger: newLedger(o.Cluster),
		clock: time.Now, pause: time.Sleep, spawn: func(f func()) { go f() },
	}
	r.health.init()
	o.Cluster.OnEnd(r.ended)
	return r
}

// Close ends what runs beside requests. The cluster's end of the last term, which reports what was seen, is to come before or after
// it. Close what the client is connected to after it.
func (r *Redis) Close() {
	r.closing()
	r.running.Wait()
	r.counters.expect("")
}

// Take implements Limiter. An ended context does not stop it: whether a request counts must not depend on whether its
// caller is still there.
func (r *Redis) Take(ctx context.Context, c Claim, now time.Time) Decision {
	return r.decide(ctx, &c, now, 1)
}

// Peek implements Limiter.
func (r *Redis) Peek(ctx context.Context, c Claim, now time.Time) Decision {
	return r.decide(ctx, &c, now, 0)
}

func (r *Redis) decide(ctx context.Context, c *Claim, now time.Time, count int64) Decision {
	if c.KeyPerMinute <= 0 {
		c.KeyID, c.KeyPerMinute = "", 0 // All such keys of a tenant share their decisions.
	}
	var w wait
	for {
		t, err := r.term(ctx, &w)
		if err != nil {
			return r.undecided(c, now, count, err)
		}
		var d Decision
		if t.Redis != "" {
			d, err = r.takeShared(ctx, &t, c, now, count)
		} else {
			d, err = r.takeGrant(ctx, &t, c, now, count)
		}
		if err == nil {
			return d
		}
		if !errors.Is(err, errOver) {
			return r.undecided(c, now, count, err)
		}
		w.over = t.Number
	}
}

// undecided is for a request that no term decides over. What this server remembers to be full is refused as ever. The rest
// is admitted when Postgres is away, for nothing can be answered then; otherwise it is refused, because others may be
// admitting what remains.
func (r *Redis) undecided(c *Claim, now time.Time, count int64, err error) Decision {
	minute, day := minuteAt(c.TenantID, now), DayAt(now)
	u := r.ledger.known(c, minute, day)
	if errors.Is(err, errAway) {
		d := decide(c, minute, day, u, count)
		d.Undecided = d.Admitted
		return d
	}
	u.minute = max(u.minute, c.Quota.PerMinute)
	d := decide(c, minute, day, u, count)
	d.Undecided = true
	return d
}

// Refund implements Limiter. One whose answer is lost is not repeated, and what was decided in a term that is over is not
// given back: by then nobody knows any more in which count it is.
func (r *Redis) Refund(ctx context.Context, c Claim, d Decision) {
	t, ok := r.cluster.Term()
	if !d.Admitted || !ok || t.Number != d.Term {
		return
	}
	if d.Key.Limit == 0 {
		c.KeyID, c.KeyPerMinute = "", 0
	}
	if t.Redis == "" {
		r.ledger.returnToken(&c, &d)
		return
	}
	if t.Number == r.health.lost.Load() {
		return
	}
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	if err := r.counters.refund(ctx, t.Number, &c, d.Minute.Number, d.Day.Number); err != nil {
		r.lose(t.Number, err)
	}
	r.refunded(c.TenantID)
}

// bounded is for one call to Redis, which goes on when the request's caller has gone.
func (r *Redis) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.options.Timeout)
}

// refunded forgets what is remembered to be refused to a tenant: something was given back.
func (r *Redis) refunded(tenantID int64) {
	r.refunds.Add(1)
	r.ledger.forgetRefusals(tenantID)
}

// Degraded reports whether anybody but Redis decides, and since when.
func (r *Redis) Degraded() (degraded bool, since time.Time) {
	if t, ok := r.cluster.Term(); ok {
		r.note(&t)
	}
	return r.health.degraded()
}
