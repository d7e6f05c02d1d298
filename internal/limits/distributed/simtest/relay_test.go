package simtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/limits/distributed"
)

var errSimRelay = errors.New("no other server answers")

// simRelayed is how long a relayed call is under way, in each direction.
const simRelayed = 4 * time.Millisecond

// simRelay is one server's way to the others, through Postgres.
type simRelay struct {
	s *simulation
	n *simNode
	// last is what plantedResultTwice repeats.
	last simRelayedCall
}

type simRelayedCall struct {
	call   string
	result []byte
}

var _ distributed.Relay = (*simRelay)(nil)

// Send implements distributed.Relay. The call or its result may be lost, the call made twice, the result late, and reach a server that was
// frozen.
func (r *simRelay) Send(ctx context.Context, serverID string, call []byte) ([]byte, error) {
	s, began := r.s, r.s.now
	s.totals.relayed++
	s.elapse(r.n, simRelayed)
	i := slices.IndexFunc(s.nodes, func(n *simNode) bool { return n.id == serverID })
	if i < 0 || !r.n.reachesPostgres() || s.strikes(r.n, simRelayLost) {
		return nil, r.lost(began)
	}
	peer := s.nodes[i]
	if peer.frozen || !peer.reachesPostgres() {
		return nil, r.lost(began)
	}
	if s.planted == plantedResultTwice && r.last.call == string(call) {
		return r.last.result, nil
	}
	peer.waiting++
	result := peer.limiter.Relayed.Serve(ctx, call)
	if s.strikes(r.n, simRelayedTwice) {
		result = peer.limiter.Relayed.Serve(ctx, call)
	}
	peer.waiting--
	s.elapse(r.n, simRelayed)
	if s.strikes(r.n, simRelaySlow) {
		s.elapse(r.n, time.Duration(s.random.Int64N(int64(2*simTimeout))))
	}
	if peer.dead || !r.n.reachesPostgres() || s.now.Sub(began) > simTimeout || s.strikes(r.n, simRelayResultLost) {
		return nil, r.lost(began)
	}
	s.pauseInCall(r.n, simFrozenInRelay, simKilledInRelay)
	r.last = simRelayedCall{string(call), result}
	return result, nil
}

// lost waits until the call has taken its time.
func (r *simRelay) lost(began time.Time) error {
	if rest := simTimeout - r.s.now.Sub(began); rest > 0 {
		r.s.elapse(r.n, rest)
	}
	return errSimRelay
}
