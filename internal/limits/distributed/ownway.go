package distributed

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/cluster"
)

const (
	// pingsToResume is how many pings in a row a Redis must answer that only this server could not reach. maxResumePings bounds how far
	// that number doubles.
	pingsToResume, maxResumePings = 3, 24
	// maxRelayed is how long other servers make this one's calls before all leave Redis. It is longer than what heals by itself, like
	// the failover of a switch, a route that is repaired, or a virtual machine that is moved.
	maxRelayed = 5 * time.Second
)

// errCutOff: this server alone has not reached Redis for maxRelayed.
var errCutOff = errors.New("redis: this server has not reached it for too long")

// ownWay knows whether this server makes its calls to Redis itself.
//
//	                           a call fails
//	own way ◀──────────────────────────────────────────────▶ relayed
//	   │       Redis has answered some pings in a row           │
//	   │                                                        │ no other server can make a call either, or it lasts
//	   ▼                                                        ▼
//	 lost, if Redis has forgotten its counters, is another, or no other server is there
type ownWay struct {
	options *Options
	health  *redisHealth

	// relayed is the term in which other servers make the calls, 0 for none.
	relayed atomic.Int64
	// why is to be logged when another server has made a call; nil if it was.
	why atomic.Pointer[error]

	mu sync.Mutex
	// since is when another server made the first call, resumed when this server last made its calls itself again. For that Redis must
	// answer needed pings in a row, and has answered that many.
	since, resumed   time.Time
	needed, answered int
}

// relays reports whether other servers make the calls of that term.
func (w *ownWay) relays(term int64) bool { return w.relayed.Load() == term && !w.health.lostIn(term) }

// failed has other servers make the calls of that term, after one of this server's own has failed. It reports whether they do.
func (w *ownWay) failed(term int64, err error) bool {
	if later := (LaterTermError{}); errors.As(err, &later) {
		return false // It was a reply.
	}
	if w.options.Relay == nil || w.health.lostIn(term) || !w.options.Cluster.Valid(term) || len(w.options.Cluster.Peers()) == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.relayed.Load() == term {
		return true
	}
	now := w.options.Clock()
	if now.Sub(w.resumed) < soonLost {
		w.needed = min(2*w.needed, maxResumePings)
	} else {
		w.needed = pingsToResume
	}
	w.since, w.answered = now, 0
	w.why.Store(&err)
	w.relayed.Store(term)
	return true
}

// relayWorks notes that another server has made a call.
func (w *ownWay) relayWorks() {
	if err := w.why.Swap(nil); err != nil {
		w.options.Log.Warn().Err(*err).Msg("limits: only this server can't reach Redis: another server makes its calls")
	}
}

// pinged takes the result of a ping while other servers make the calls of the term. It returns an error if all must leave Redis.
func (w *ownWay) pinged(t *cluster.Term, fingerprint string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.options.Clock()
	switch {
	case !w.relays(t.Number):
		// It is over.
	case err == nil && fingerprint != t.Redis:
		return errOtherRedis
	case now.Sub(w.since) >= maxRelayed:
		return errCutOff
	case err != nil:
		w.answered = 0
	default:
		if w.answered++; w.answered < w.needed {
			break
		}
		w.relayed.Store(0)
		w.resumed = now
		if w.why.Swap(nil) == nil {
			w.options.Log.Info().Dur("away", now.Sub(w.since)).Msg("limits: this server reaches Redis again")
		}
	}
	return nil
}

// ended reports whether other servers made the calls until now, and has them cease.
func (w *ownWay) ended() (relayed bool) { return w.relayed.Swap(0) != 0 }
