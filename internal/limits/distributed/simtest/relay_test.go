package simtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/limits/distributed"
)

var errSimRelay = errors.New("no other server answers")

const (
	// simRelayed is how long a relayed call is under way, in each direction.
	simRelayed = 4 * time.Millisecond
	// simRelayPoll is how long a result is waited for until another server is asked.
	simRelayPoll = 30 * time.Millisecond
)

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
// frozen. Of several servers a later one is asked if the first does nothing.
func (r *simRelay) Send(ctx context.Context, serverIDs []string, call []byte) ([]byte, error) {
	s, began := r.s, r.s.now
	s.totals.relayed++
	for _, id := range serverIDs {
		if s.now.Sub(began) >= simTimeout {
			break
		}
		if result, ok := r.try(ctx, id, call, began); ok {
			return result, nil
		}
	}
	if rest := simTimeout - s.now.Sub(began); rest > 0 {
		s.elapse(r.n, rest)
	}
	return nil, errSimRelay
}

// try has one server make the call. ok is false if its result does not come in time.
func (r *simRelay) try(ctx context.Context, serverID string, call []byte, began time.Time) (result []byte, ok bool) {
	s := r.s
	s.elapse(r.n, simRelayed)
	i := slices.IndexFunc(s.nodes, func(n *simNode) bool { return n.id == serverID })
	if i < 0 || !r.n.reachesPostgres() || s.strikes(r.n, simRelayLost) {
		s.elapse(r.n, simRelayPoll)
		return nil, false
	}
	peer := s.nodes[i]
	if peer.frozen || !peer.reachesPostgres() {
		s.elapse(r.n, simRelayPoll)
		return nil, false
	}
	if s.planted == plantedResultTwice && r.last.call == string(call) {
		return r.last.result, true
	}
	peer.waiting++
	result = peer.limiter.Relayed.Serve(ctx, call)
	// A refund is given to one server only, which is told of it once.
	if !bytes.Contains(call, []byte(`"refund"`)) && s.strikes(r.n, simRelayedTwice) {
		result = peer.limiter.Relayed.Serve(ctx, call)
	}
	peer.waiting--
	s.elapse(r.n, simRelayed)
	if s.strikes(r.n, simRelaySlow) {
		s.elapse(r.n, time.Duration(s.random.Int64N(int64(2*simTimeout))))
	}
	if peer.dead || !r.n.reachesPostgres() || s.now.Sub(began) > simTimeout || s.strikes(r.n, simRelayResultLost) {
		s.elapse(r.n, simRelayPoll)
		return nil, false
	}
	s.pauseInCall(r.n, simFrozenInRelay, simKilledInRelay)
	r.last = simRelayedCall{string(call), result}
	return result, true
}
