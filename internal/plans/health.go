package plans

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
)

const (
	// answersToRegain is how often a lost Redis has to answer in a row before it is said to be there.
	answersToRegain = 10
	// maxAnswers bounds how far that doubles for one that is lost again soon: with a probe every 100 ms, ten seconds.
	maxAnswers = 100
	// soon is how long a Redis has to stay for its past to be forgotten.
	soon = 20 * time.Second
)

// errForgotten: a tenant was opened in Redis, and is not there.
var errForgotten = errors.New("redis has lost its counters")

// health is what this server thinks of Redis.
type health struct {
	// lost is the last term in which this server lost it, noted the last that it saw in force.
	lost, noted atomic.Int64
	// expects is the Redis that calls reach, nil or "" for none.
	expects atomic.Pointer[string]

	mu sync.Mutex
	// sees is what the cluster was told, candidate what answered last, answers how often in a row, needed how often it must.
	sees, candidate string
	answers, needed int
	regained        time.Time
	// firstSeen is when this server saw the noted term first.
	firstSeen time.Time
	// away is since when Redis does not decide, zero when it does.
	away time.Time
}

func (h *health) init() { h.needed = 1 }

func (h *health) degraded() (degraded bool, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.away.IsZero(), h.away
}

// note notes a term that is in force.
func (r *Redis) note(t *cluster.Term) {
	h := &r.health
	if h.noted.Load() == t.Number {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.noted.Load() >= t.Number {
		return
	}
	h.firstSeen = r.clock()
	h.noted.Store(t.Number)
	if t.Redis == "" {
		r.turnDegraded(errors.New("not every server sees the same Redis"))
	} else if !h.away.IsZero() {
		r.options.Log.Info().Dur("away", r.clock().Sub(h.away)).Msg("limits: Redis is back and decides again")
		h.away = time.Time{}
	}
}

// turnDegraded is called with mu held.
func (r *Redis) turnDegraded(err error) {
	if r.health.away.IsZero() {
		r.health.away = r.clock()
		r.options.Log.Warn().Err(err).Msg("limits: degraded, because Redis is lost: deciding by Postgres")
	}
}

// holds reports whether the term is in force and calls reach the Redis that decides in it. It is asked after an answer too.
// A server whose lease runs out for a moment looks for Redis, may find another, and then hear that the term goes on.
func (r *Redis) holds(t *cluster.Term) bool {
	expects := r.health.expects.Load()
	return r.cluster.Valid(t.Number) && r.health.lost.Load() != t.Number && expects != nil && *expects == t.Redis
}

// expect has calls reach that Redis only. Who asks holds after a call knows whether it did.
func (r *Redis) expect(fingerprint string) {
	r.health.expects.Store(&fingerprint)
	r.counters.expect(fingerprint)
}

// settledFor reports whether all changes of catalogues that were begun before the term are over.
func (r *Redis) settledFor(t *cluster.Term) bool {
	r.health.mu.Lock()
	defer r.health.mu.Unlock()
	return t.Number == 1 || r.clock().Sub(r.health.firstSeen) > freshness.WriteIntentTTL
}

// lose tells the cluster that a call to Redis failed that was made in that term. One of an earlier term says nothing of Redis as
// it is now.
func (r *Redis) lose(term int64, err error) {
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if t, ok := r.cluster.Term(); ok && t.Number != term || h.lost.Load() >= term {
		return
	}
	h.lost.Store(term)
	if r.clock().Sub(h.regained) < soon {
		h.needed = min(2*max(h.needed, answersToRegain), maxAnswers)
	} else {
		h.needed = answersToRegain
	}
	r.forsake()
	r.turnDegraded(err)
}

// forsake is called with mu held.
func (r *Redis) forsake() {
	h := &r.health
	h.sees, h.candidate, h.answers = "", "", 0
	r.cluster.SetRedis("")
	r.expect("")
}

// start tries Redis, so that the cluster hears of it as soon as possible. When it is away this is no loss: it was never there.
func (r *Redis) start(ctx context.Context) {
	for range 2 {
		r.step(ctx)
	}
}

func (r *Redis) probeAlways(ctx context.Context) {
	ticker := time.NewTicker(r.options.ProbeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.step(ctx)
		}
	}
}

// step probes Redis where it does not decide, and tells the cluster when it has answered often enough. It says so only when the
// term in which it was lost is over: the cluster must have heard that it was lost.
func (r *Redis) step(ctx context.Context) {
	t, ok := r.cluster.Term()
	lost := r.health.lost.Load()
	if ok {
		r.note(&t)
		if t.Redis != "" && t.Number != lost {
			return
		}
	}
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	fingerprint, err := r.counters.probe(ctx)
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case lost != h.lost.Load():
		// It was lost meanwhile.
	case err != nil:
		r.forsake()
		if h.needed < answersToRegain {
			h.needed = answersToRegain
		}
		r.turnDegraded(err)
	case fingerprint != h.candidate:
		r.forsake()
		h.candidate = fingerprint
		// Calls that reach another one fail from here on.
		r.expect(fingerprint)
	default:
		h.answers++
		heard := lost == 0 || ok && t.Number != lost
		if h.answers >= h.needed && h.sees == "" && heard {
			h.sees = fingerprint
			if lost != 0 {
				h.regained = r.clock()
			}
			r.cluster.SetRedis(fingerprint)
		}
	}
}
