package plans

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// redisTimeout bounds one call to Redis and everything in it: the wait for a connection, the dial, the reply.
const redisTimeout = 100 * time.Millisecond

func timeoutOr(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return redisTimeout
	}
	return timeout
}

//go:embed take.lua
var takeSource string

//go:embed refund.lua
var refundSource string

//go:embed addback.lua
var addBackSource string

var (
	takeScript    = redis.NewScript(takeSource)
	refundScript  = redis.NewScript(refundSource)
	addBackScript = redis.NewScript(addBackSource)
)

// RedisOptions is how a Redis limiter behaves while Redis is away.
type RedisOptions struct {
	// Servers returns how many servers are alive, this one included; it is called for every request that is decided
	// without Redis, so it must be cheap. Nil or less than 1 means 1.
	Servers func() int
	// Log receives one line when Redis is lost and one when it is back.
	Log zerolog.Logger
	// Timeout bounds one call to Redis and everything in it, 100 ms by default: what a request waits when Redis is lost.
	Timeout time.Duration
	// ProbeEvery is the pause between attempts to reach a lost Redis, 100 ms by default.
	ProbeEvery time.Duration
}

// Redis counts in a Redis server or cluster, for any number of servers of ours that share it: a decision is one
// script, one round trip, and exact. What Redis refused is refused for a second more without asking it, unless the
// quota changes, the window ends or this server gives a request back.
//
// While Redis does not answer the limiter is degraded: it decides in this process, within this server's share of what
// Redis last said was remaining. The first call that fails takes the timeout at most; those after it wait for nothing.
// When Redis answers again it is told, tenant by tenant, what was admitted meanwhile, which is added once, and what this
// server had seen used before, in case it comes back empty. When it has answered for ten probes, so that other servers had
// time to do the same, it decides again.
//
// A call whose reply was lost may have counted in Redis and then counts here too: a lost reply can cost a tenant
// requests, it gives none away.
type Redis struct {
	client  redis.UniversalClient
	options RedisOptions
	ledger  *ledger

	// changes counts how often Redis was lost and came back: even is healthy, odd is degraded.
	// A decision reads it without a lock; it is changed under mu, with the two fields below.
	changes atomic.Int64
	mu      sync.Mutex
	since   time.Time
	// lost is the tenant whose call failed: the one to probe with, because in a cluster only a part may be away.
	lost int64

	server  string // tells this process's batches from those of all others
	batches atomic.Int64
	wake    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{}
}

var _ Limiter = (*Redis)(nil)

// NewRedis returns a limiter that counts in that Redis. It tries to reach it once; when that fails the limiter starts
// degraded. The client remains the caller's, to be closed after the limiter; NewRedisClient makes one that fits.
func NewRedis(client redis.UniversalClient, o RedisOptions) *Redis {
	o.Timeout = timeoutOr(o.Timeout)
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = redisTimeout
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: client, options: o, ledger: newLedger(), server: newServerName(),
		wake: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{}),
	}
	if err := r.probe(ctx); err != nil {
		r.lose(r.changes.Load(), 0, err)
	}
	go r.mend(ctx)
	return r
}

// Close ends the limiter, after the last Take. When Redis answers, it is told of what was admitted without it, within a
// second or so; otherwise that is forgotten.
func (r *Redis) Close() {
	r.stop()
	<-r.stopped
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r.settle(ctx)
}

// Degraded reports whether requests are decided without Redis, and since when.
func (r *Redis) Degraded() (degraded bool, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isDegraded(r.changes.Load()) {
		return false, time.Time{}
	}
	return true, r.since
}

// Take implements Limiter. An ended context does not stop it: whether a request counts must not depend on whether its
// caller is still there.
func (r *Redis) Take(ctx context.Context, c Claim, now time.Time) Decision {
	tenantID, q := c.TenantID, c.Quota
	minute, day := minuteAt(tenantID, now), DayAt(now)
	changes := r.changes.Load()
	if isDegraded(changes) {
		return r.takeHere(tenantID, q, minute, day)
	}
	if d, refused := r.ledger.refused(tenantID, q, minute, day, changes, now); refused {
		return d
	}
	u, err := r.ask(ctx, tenantID, q, minute, day, changes)
	if err != nil {
		r.ledger.unanswered(tenantID)
		r.lose(changes, tenantID, err)
		return r.takeHere(tenantID, q, minute, day)
	}
	d := decide(&c, minute, day, u, 1)
	if d.Admitted {
		u.minute++
		u.day++
	}
	r.ledger.answered(tenantID, minute, day, u, d.Admitted)
	if !d.Admitted {
		r.ledger.remember(tenantID, &refusal{quota: q, minute: minute, day: day, used: u, at: now, outage: changes})
	}
	return d
}

// Peek implements Limiter.
func (r *Redis) Peek(ctx context.Context, c Claim, now time.Time) Decision {
	minute, day := minuteAt(c.TenantID, now), DayAt(now)
	// Nothing fits into limits of 0, so the script only looks.
	u, err := r.run(ctx, takeScript, []string{minuteKey(c.TenantID, minute), dayKey(c.TenantID, day)}, 0, 0)
	if err != nil {
		u = used{minute: c.Quota.PerMinute, day: c.Quota.PerDay}
	}
	return decide(&c, minute, day, u, 0)
}

// ask lets Redis decide, and returns what was used before.
func (r *Redis) ask(ctx context.Context, tenantID int64, q Quota, minute, day, changes int64) (used, error) {
	if r.ledger.ask(tenantID, minute, day, changes) {
		if err := r.tell(ctx, tenantID); err != nil {
			return used{}, err
		}
	}
	return r.run(ctx, takeScript, []string{minuteKey(tenantID, minute), dayKey(tenantID, day)}, q.PerMinute, q.PerDay)
}

// takeHere decides without Redis, and sees to it that Redis is told as soon as it answers.
func (r *Redis) takeHere(tenantID int64, q Quota, minute, day int64) Decision {
	d := r.ledger.take(tenantID, q, minute, day, r.servers())
	r.wakeMender()
	return d
}

// Refund implements Limiter. A refund that Redis did not confirm is not tried again, for it may have been made.
func (r *Redis) Refund(ctx context.Context, c Claim, d Decision) {
	tenantID := c.TenantID
	if !d.Admitted {
		return
	}
	changes := r.changes.Load()
	if isDegraded(changes) {
		r.ledger.refund(tenantID, d)
		return
	}
	keys := []string{minuteKey(tenantID, d.Minute.Number), dayKey(tenantID, d.Day.Number)}
	err := r.tell(ctx, tenantID)
	if err == nil {
		_, err = r.run(ctx, refundScript, keys)
		r.ledger.remember(tenantID, nil)
	}
	if err != nil {
		r.lose(changes, tenantID, err)
	}
}

// run runs a script that returns what is used, within the timeout.
func (r *Redis) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (used, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.Timeout)
	defer cancel()
	reply, err := script.Run(ctx, r.client, keys, args...).Int64Slice()
	if err != nil {
		return used{}, err
	}
	if len(reply) != 2 {
		return used{}, fmt.Errorf("redis: a reply of %d numbers, want 2", len(reply))
	}
	return used{minute: reply[0], day: reply[1]}, nil
}

func (r *Redis) servers() int64 {
	if r.options.Servers == nil {
		return 1
	}
	return max(1, int64(r.options.Servers()))
}

// The keys of one tenant carry its id in braces, so that a cluster keeps them on one node, where a script reaches all.

func minuteKey(tenantID, number int64) string {
	return string(strconv.AppendInt(appendKey(make([]byte, 0, 64), tenantID, ":m:"), number, 10))
}

func dayKey(tenantID, number int64) string {
	return string(strconv.AppendInt(appendKey(make([]byte, 0, 64), tenantID, ":d:"), number, 10))
}

// batchKey holds the number of the last batch that this server added for the tenant.
func (r *Redis) batchKey(tenantID int64) string {
	return string(append(appendKey(make([]byte, 0, 64), tenantID, ":b:"), r.server...))
}

// probeKey is a batchKey for batches with nothing in them.
func (r *Redis) probeKey(tenantID int64) string {
	return string(append(appendKey(make([]byte, 0, 64), tenantID, ":p:"), r.server...))
}

func appendKey(b []byte, tenantID int64, kind string) []byte {
	b = append(b, "pst:{"...)
	b = strconv.AppendInt(b, tenantID, 10)
	b = append(b, '}')
	return append(b, kind...)
}
