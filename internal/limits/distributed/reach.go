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
	// pingsToRegain is how many pings in a row a lost Redis must answer before it counts as
	// reachable.
	pingsToRegain = 3
	// maxPings bounds the number of pings to regain Redis, which doubles for a Redis that is soon
	// lost again. With a ping every 100 ms it stands for five seconds.
	maxPings = 48
	// soonLost is how long a Redis must stay reachable before earlier losses are forgotten.
	soonLost = 20 * time.Second
	// overtakenTime is how long a term may stay in force after Redis was found to have counts of a
	// later term.
	overtakenTime = time.Second
)

var (
	// errForgotten: a tenant's count was begun in Redis, and is not there.
	errForgotten = errors.New("redis has lost its counters")
	// errNoSuchTerm: Redis has counts of a later term than any that can exist.
	errNoSuchTerm = errors.New("redis holds counters of a later term than the cluster's; was the database restored?")
	// errOtherLayout: this server counts by another layout than the others, as during an upgrade.
	// Postgres decides in the next term.
	errOtherLayout = errors.New("this server counts in Redis by another layout than the other servers")
	// ErrOtherRedis: this server reaches another Redis than the one that decides in the term.
	ErrOtherRedis = errors.New("this server reaches another Redis than the other servers")
)

// reach knows whether this server reaches Redis, and tells the cluster.
//
//	     ping answers, once                       answered often enough
//	lost ─────────────────▶ candidate (is pinned) ─────────────────────▶ seen
//	  ▲                          │ ping fails, another Redis               │ a call fails twice
//	  └──────────────────────────┴─────────────────────────────────────────┘
//
// A server that alone has lost Redis decides nothing. It goes on in the same term when it sees the
// same Redis again.
type reach struct {
	options *Options
	backend Backend

	// lost is the last term in which this server lost Redis. overtaken is the last term in which it
	// found counts of later terms in Redis. noted is the last term that the server saw in force,
	// nil for none.
	lost, overtaken atomic.Int64
	noted           atomic.Pointer[cluster.Term]
	// pinned is the Redis that calls may reach, nil or "" for none.
	pinned atomic.Pointer[string]
	// replied is when Redis last replied to a call, in nanoseconds of Unix time.
	replied atomic.Int64

	mu sync.Mutex
	// sees is the Redis reported to the cluster, candidate the one that answered last. answers is
	// how often in a row candidate has answered, needed how often it must answer.
	sees, candidate string
	answers, needed int
	// away is the time since which this server sees no Redis, zero if it sees one; why is the
	// reason. regained is when it last saw one again.
	away, regained time.Time
	why            error
	// firstSeen is when this server first saw the noted term. overtakenAt is when it last found
	// counts of a later one.
	firstSeen, overtakenAt time.Time
	// degraded is the time since which Postgres decides, zero if Redis does.
	degraded time.Time
}

func newReach(o *Options, b Backend) *reach {
	return &reach{options: o, backend: b, needed: 1, away: o.Clock()}
}

func (h *reach) isDegraded() bool {
	h.latest()
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.degraded.IsZero()
}

// note records a term that is in force.
func (h *reach) note(t *cluster.Term) {
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
	switch {
	case t.Redis == "" && h.degraded.IsZero():
		h.degraded = h.firstSeen
		h.options.Log.Warn().Err(h.why).Msg("limits: degraded: Redis is lost, limits are counted in Postgres")
	case t.Redis != "" && !h.degraded.IsZero():
		h.options.Log.Info().Dur(
			"away_ms",
			h.firstSeen.Sub(h.degraded),
		).Msg("limits: Redis is back: limits are counted in Redis again")
		h.degraded = time.Time{}
	}
}

// latest returns the term in force or, without a lease, the last term that was; nil for none.
func (h *reach) latest() *cluster.Term {
	if t, ok := h.options.Cluster.Term(); ok {
		h.note(&t)
	}
	return h.noted.Load()
}

// lostIn reports whether this server lost Redis in the term.
func (h *reach) lostIn(term int64) bool { return h.lost.Load() == term }

// valid reports whether the term is in force and calls reach the Redis that decides in it. Call it
// after a reply too: a server whose lease ends for a moment may find another Redis, and then hear
// that the term continues.
func (h *reach) valid(t *cluster.Term) bool {
	pinned := h.pinned.Load()
	return h.options.Cluster.Valid(t.Number) && !h.lostIn(t.Number) && pinned != nil && *pinned == t.Redis
}

// pin restricts calls to the Redis with the fingerprint. After a call, check valid again.
func (h *reach) pin(fingerprint string) {
	h.pinned.Store(&fingerprint)
	h.backend.Pin(fingerprint)
}

// writesSettled reports whether all writes to catalogues that began before the term are over.
func (h *reach) writesSettled(t *cluster.Term) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return t.First || h.options.Clock().Sub(h.firstSeen) > freshness.WriteIntentTTL
}

// over reports whether this server can't decide in the term at the moment: it lost Redis in it, or
// Redis has counts of later terms.
func (h *reach) over(term int64) bool { return h.lostIn(term) || h.overtaken.Load() == term }

// call makes a call to Redis in a term, and repeats it once if it fails: a short stall is over by
// then. If it fails again, Redis is lost.
func (h *reach) call(term int64, do func() error) error {
	err := do()
	if later := (LaterTermError{}); err != nil && !errors.As(err, &later) && !h.over(term) &&
		h.options.Cluster.Valid(term) {
		err = do()
	}
	if err != nil {
		h.lose(term, err)
		return err
	}
	h.replied.Store(h.options.Clock().UnixNano())
	return nil
}

// lose records that this server has lost Redis in the term. It ignores a failure in an earlier
// term, which says nothing of Redis now.
//
// If Redis has lost counts, the term must end. If Redis has counts of a later term, the next term
// gets a higher number than the later term.
func (h *reach) lose(term int64, err error) {
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
	if errors.Is(err, errForgotten) || errors.Is(err, errNoSuchTerm) {
		h.options.Log.Warn().Err(err).Msg("limits: a new term begins where the records stand")
		h.options.Cluster.Forgot(term)
		return
	}
	if h.needed = pingsToRegain; h.options.Clock().Sub(h.regained) < soonLost {
		h.needed = min(2*max(h.needed, pingsToRegain), maxPings)
	}
	h.forget(err)
}

// forget stops all calls to Redis until it has answered enough pings, and tells the cluster. It is
// called with mu held.
func (h *reach) forget(why error) {
	now := h.options.Clock()
	if h.sees != "" || h.why == nil && why != nil {
		h.options.Log.Warn().Err(why).Msg("limits: this server has lost Redis")
	}
	if h.sees != "" {
		h.away = now
	}
	if why != nil {
		h.why = why
	}
	h.sees, h.candidate, h.answers = "", "", 0
	if now.Sub(h.away) >= cluster.CutOffAfter {
		h.options.Cluster.SetRedis(cluster.CutOff)
	} else {
		h.options.Cluster.SetRedis("")
	}
	h.pin("")
}

// pingAlways pings until ctx ends.
func (h *reach) pingAlways(ctx context.Context) {
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

// stays reports whether a term is still in force long after Redis was found to have counts of a
// later one.
func (h *reach) stays(term int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.overtaken.Load() == term && h.options.Clock().Sub(h.overtakenAt) > overtakenTime
}

// ping pings Redis. While Redis decides, it pings only if no call was made lately, so that a server
// without requests notices a loss too.
func (h *reach) ping(ctx context.Context) {
	t, ok := h.options.Cluster.Term()
	if ok {
		h.note(&t)
		if h.stays(t.Number) {
			h.lose(t.Number, errNoSuchTerm)
		}
	}
	if !ok || t.Redis == "" || !h.valid(&t) {
		h.search(ctx, &t)
		return
	}
	if h.options.Clock().UnixNano()-h.replied.Load() < int64(h.options.PingEvery) {
		return
	}
	_ = h.call(t.Number, func() error {
		bounded, cancel := h.options.bounded(ctx)
		defer cancel()
		fingerprint, err := h.backend.Ping(bounded)
		if err == nil && fingerprint != t.Redis {
			err = ErrOtherRedis
		}
		return err
	})
}

// search pings a Redis that does not decide on this server, and tells the cluster when it has
// answered often enough. t is the term in force, if any. If this server lost Redis in that term, it
// continues in the term.
func (h *reach) search(ctx context.Context, t *cluster.Term) {
	lost := h.lost.Load()
	ctx, cancel := h.options.bounded(ctx)
	defer cancel()
	fingerprint, err := h.backend.Ping(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case lost != h.lost.Load():
		return // Redis was lost meanwhile.
	case err != nil:
		h.needed = max(h.needed, pingsToRegain)
		h.forget(err)
		return
	case fingerprint != h.candidate:
		h.forget(nil)
		h.candidate = fingerprint
		h.pin(fingerprint)
		return
	}
	h.answers++
	if h.answers < h.needed || h.sees != "" {
		return
	}
	h.sees = fingerprint
	h.options.Cluster.SetRedis(fingerprint)
	if t.Redis != "" && t.Redis != fingerprint {
		return // The wrong Redis may have answered.
	}
	now := h.options.Clock()
	if h.why != nil {
		h.options.Log.Info().Dur("away_ms", now.Sub(h.away)).Msg("limits: this server reaches Redis again")
	}
	if lost != 0 {
		h.regained = now
	}
	h.why = nil
	h.lost.Store(0)
}

// cutOff returns why this server can't decide in a term in which Redis does. It is nil if it can,
// or if there is no such term.
func (h *reach) cutOff() error {
	t, ok := h.options.Cluster.Term()
	if !ok || t.Redis == "" || h.valid(&t) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.sees == "" || h.sees == t.Redis:
		return h.why
	case cluster.LayoutOf(h.sees) != cluster.LayoutOf(t.Redis):
		return errOtherLayout
	}
	return ErrOtherRedis
}
