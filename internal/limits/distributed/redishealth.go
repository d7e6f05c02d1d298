package distributed

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
	// pingsToRegain is how many pings in a row a lost Redis must answer before it counts as there.
	pingsToRegain = 10
	// maxPings bounds how far that number doubles for a Redis that is soon lost again: with a ping every 100 ms, ten seconds.
	maxPings = 100
	// soonLost is how long a Redis must stay for earlier losses to be forgotten.
	soonLost = 20 * time.Second
	// overtakenTime is how long a term may stay in force after Redis was found to have counts of a later one.
	overtakenTime = time.Second
)

var (
	// errForgotten: a tenant was initialized in Redis, and is not there.
	errForgotten = errors.New("redis has lost its counters")
	// errNoSuchTerm: Redis has counts of a later term than any can be.
	errNoSuchTerm = errors.New("redis has counts of a term that cannot be")
	// errOtherRedis: the reply came from a Redis that does not decide in the term.
	errOtherRedis = errors.New("redis: it is not the same process as before")
)

// redisHealth decides whether this server sees Redis, and tells the cluster.
//
//	     ping answers, once                       answered often enough
//	lost ─────────────────▶ candidate (is pinned) ─────────────────────▶ seen
//	  ▲                          │ ping fails, another Redis               │ a call fails, see ownWay
//	  └──────────────────────────┴─────────────────────────────────────────┘
type redisHealth struct {
	options *Options
	backend Backend
	way     *ownWay

	// lost is the last term in which this server lost Redis, overtaken the last one in which it found that Redis has counts of later
	// terms, noted the last term that it saw in force, nil for none.
	lost, overtaken atomic.Int64
	noted           atomic.Pointer[cluster.Term]
	// pinned is the Redis that calls reach, nil or "" for none.
	pinned atomic.Pointer[string]

	mu sync.Mutex
	// sees is what the cluster knows, candidate what answered last, answers how often in a row, needed how often it must.
	sees, candidate string
	answers, needed int
	regained        time.Time
	// firstSeen is when this server first saw the noted term, overtakenAt when it last found counts of a later one.
	firstSeen, overtakenAt time.Time
	// degraded is since when Redis does not decide, zero if it does.
	degraded time.Time
}

func newRedisHealth(o *Options, b Backend) *redisHealth {
	h := &redisHealth{options: o, backend: b, needed: 1}
	h.way = &ownWay{options: o, health: h}
	return h
}

func (h *redisHealth) isDegraded() bool {
	h.latest()
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.degraded.IsZero()
}

// note notes a term that is in force.
func (h *redisHealth) note(t *cluster.Term) {
	if noted := h.noted.Load(); noted != nil && noted.Number == t.Number {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if noted := h.noted.Load(); noted != nil && noted.Number >= t.Number {
		return
	}
	h.firstSeen = h.options.Clock()
	of := *t
	h.noted.Store(&of)
	if h.way.ended() {
		// The next term must not count on this server's Redis.
		h.needed = max(h.needed, pingsToRegain)
		h.forget()
	}
	if t.Redis == "" {
		h.degrade(errors.New("not every server sees the same Redis"))
	} else if !h.degraded.IsZero() {
		h.options.Log.Info().Dur("away", h.options.Clock().Sub(h.degraded)).Msg("limits: Redis is back: limits are counted in Redis again")
		h.degraded = time.Time{}
	}
}

// latest returns the term in force or, without a lease, the last one that was; nil for none.
func (h *redisHealth) latest() *cluster.Term {
	if t, ok := h.options.Cluster.Term(); ok {
		h.note(&t)
	}
	return h.noted.Load()
}

// degrade notes and logs that Redis does not decide. It is called with mu held.
func (h *redisHealth) degrade(err error) {
	if h.degraded.IsZero() {
		h.degraded = h.options.Clock()
		h.options.Log.Warn().Err(err).Msg("limits: degraded: Redis is lost, limits are counted in Postgres")
	}
}

// lostIn reports whether this server lost Redis in that term.
func (h *redisHealth) lostIn(term int64) bool { return h.lost.Load() == term }

// valid reports whether the term is in force and calls reach the Redis that decides in it. It is asked after a reply too: a server
// whose lease ends for a moment may find another Redis, and then hear that the term continues.
func (h *redisHealth) valid(t *cluster.Term) bool {
	pinned := h.pinned.Load()
	return h.options.Cluster.Valid(t.Number) && !h.lostIn(t.Number) && pinned != nil && *pinned == t.Redis
}

// pin lets calls reach that Redis only. Asking valid after a call tells whether it did.
func (h *redisHealth) pin(fingerprint string) {
	h.pinned.Store(&fingerprint)
	h.backend.Pin(fingerprint)
}

// writesSettled reports whether all writes to catalogues that began before the term are over.
func (h *redisHealth) writesSettled(t *cluster.Term) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return t.First || h.options.Clock().Sub(h.firstSeen) > freshness.WriteIntentTTL
}

// over reports whether this server can't decide in the term any more: it lost Redis in it, or Redis has counts of later terms.
func (h *redisHealth) over(term int64) bool { return h.lostIn(term) || h.overtaken.Load() == term }

// lose tells the cluster that a call to Redis failed in that term. A failure of an earlier term says nothing of Redis as it is now. If Redis
// has counts of a later term it is not lost: the next term is later than that one.
func (h *redisHealth) lose(term int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if later := (LaterTermError{}); errors.As(err, &later) {
		if h.overtaken.Swap(term) != term {
			h.overtakenAt = h.options.Clock()
		}
		h.options.Cluster.Saw(later.Term)
		return
	}
	if t, ok := h.options.Cluster.Term(); ok && t.Number != term || h.lost.Load() >= term {
		return
	}
	h.lost.Store(term)
	if h.options.Clock().Sub(h.regained) < soonLost {
		h.needed = min(2*max(h.needed, pingsToRegain), maxPings)
	} else {
		h.needed = pingsToRegain
	}
	h.forget()
	h.degrade(err)
}

// forget lets no call reach Redis, and tells the cluster, until Redis has answered enough pings. It is called with mu held.
func (h *redisHealth) forget() {
	h.sees, h.candidate, h.answers = "", "", 0
	h.options.Cluster.SetRedis("")
	h.pin("")
}

// pingAlways pings until ctx ends.
func (h *redisHealth) pingAlways(ctx context.Context) {
	ticker := time.NewTicker(h.options.PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.ping(ctx)
		}
	}
}

// stays reports whether a term is still in force long after Redis was found to have counts of a later one.
func (h *redisHealth) stays(term int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.overtaken.Load() == term && h.options.Clock().Sub(h.overtakenAt) > overtakenTime
}

// ping pings Redis if it does not decide, and tells the cluster when it has answered often enough. It does so only when the term in
// which Redis was lost is over, because the cluster must have heard of the loss.
func (h *redisHealth) ping(ctx context.Context) {
	t, ok := h.options.Cluster.Term()
	lost := h.lost.Load()
	if ok {
		h.note(&t)
		if h.stays(t.Number) {
			h.lose(t.Number, errNoSuchTerm)
		}
		if t.Redis != "" && t.Number != lost && !h.way.relays(t.Number) {
			return
		}
	}
	ctx, cancel := h.options.bounded(ctx)
	defer cancel()
	fingerprint, err := h.backend.Ping(ctx)
	if ok && h.way.relays(t.Number) {
		if err := h.way.pinged(&t, fingerprint, err); err != nil {
			h.lose(t.Number, err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case lost != h.lost.Load():
		// It was lost meanwhile.
	case err != nil:
		h.forget()
		h.needed = max(h.needed, pingsToRegain)
		h.degrade(err)
	case fingerprint != h.candidate:
		h.forget()
		h.candidate = fingerprint
		h.pin(fingerprint)
	default:
		h.answers++
		heard := lost == 0 || ok && t.Number != lost
		if h.answers >= h.needed && h.sees == "" && heard {
			h.sees = fingerprint
			if lost != 0 {
				h.regained = h.options.Clock()
			}
			h.options.Cluster.SetRedis(fingerprint)
		}
	}
}
