package distributed

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// Relay carries calls to Redis to other servers. It may lose, repeat and delay them.
type Relay interface {
	// Send has the first server serve the call by its Limiter.Relayed.Serve, and returns the result. If there is none soon, it has
	// the next one serve it too, and returns the first result.
	Send(ctx context.Context, serverIDs []string, call []byte) (result []byte, err error)
}

// errNotRelayed: no other server made the call, or nobody knows whether it did.
var errNotRelayed = errors.New("no other server reaches Redis either")

// relayedCall is a call of a Backend, as another server receives it. All servers that count in the same Redis have the same form of it,
// because it belongs to the layout.
type relayedCall struct {
	Term                            int64
	Method                          relayedMethod
	Requests                        []Request
	Over                            []WriteIntent
	TenantID                        int64
	KeyID                           string
	Claim                           limits.Claim
	Baseline                        counter.Baseline
	Minute, Day, Used, WriteVersion int64
	Changing                        bool
}

// relayedResult is its result. Done says that the other server made the call in that term, and knows the result. LaterTerm is that of a
// LaterTermError.
type relayedResult struct {
	Done      bool
	LaterTerm int64
	Replies   []Reply
	Version   int64
	OK        bool
}

// relayedMethod names the method of Backend.
type relayedMethod string

const (
	relayedTake       relayedMethod = "take"
	relayedInitTenant relayedMethod = "init tenant"
	relayedInitKey    relayedMethod = "init key"
	relayedRefund     relayedMethod = "refund"
	relayedBeginWrite relayedMethod = "begin write"
	// relayedEndWrite is sent by servers of the release before, which know no other way to remove a write intent.
	relayedEndWrite relayedMethod = "end write"
)

// route is the Backend that the modes call. While only this server's way to Redis fails, it sends calls through another server.
// An error of it is a lost Redis.
type route struct {
	// Backend is this server's own way.
	Backend

	options *Options
	way     *ownWay
	// next chooses the other servers.
	next atomic.Uint64

	mu sync.Mutex
	// ending ends when a term does, with the calls of it.
	ending context.Context //nolint:containedctx // It is the term's, not a call's.
	end    context.CancelFunc
}

func newRoute(b Backend, o *Options, w *ownWay) *route {
	r := &route{Backend: b, options: o, way: w}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// termEnded has all calls end that other servers make for this one.
func (r *route) termEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	r.ending, r.end = context.WithCancel(context.Background())
}

// own makes a call by this server's own way, unless other servers make the calls of that term. made is false if one of them is to make
// this call, too: because they do, or because the own way has failed now.
func (r *route) own(term int64, call func() error) (made bool, err error) {
	if r.way.relays(term) {
		return false, nil
	}
	err = call()
	return err == nil || !r.way.failed(term, err), err
}

// Take implements Backend. If its reply was lost the requests may be counted twice, and are admitted once; and there may be two intents, of
// which nobody removes one.
func (r *route) Take(term int64, over []WriteIntent, requests []Request) error {
	if made, err := r.own(term, func() error { return r.Backend.Take(term, over, requests) }); made {
		return err
	}
	result, err := r.send(&relayedCall{Term: term, Method: relayedTake, Requests: requests, Over: over})
	if err != nil {
		return err
	}
	if len(result.Replies) != len(requests) {
		return errNotRelayed
	}
	for i := range requests {
		requests[i].Reply = result.Replies[i]
	}
	return nil
}

// InitTenant implements Backend.
func (r *route) InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	if made, err := r.own(term, func() error { return r.Backend.InitTenant(ctx, term, tenantID, b, changing) }); made {
		return err
	}
	_, err := r.send(&relayedCall{Term: term, Method: relayedInitTenant, TenantID: tenantID, Baseline: b, Changing: changing})
	return err
}

// InitKey implements Backend.
func (r *route) InitKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	if made, err := r.own(term, func() error { return r.Backend.InitKey(ctx, term, tenantID, keyID, minute, used) }); made {
		return err
	}
	_, err := r.send(&relayedCall{Term: term, Method: relayedInitKey, TenantID: tenantID, KeyID: keyID, Minute: minute, Used: used})
	return err
}

// Refund implements Backend. It is not repeated, because it would undo two requests.
func (r *route) Refund(ctx context.Context, term int64, c *limits.Claim, minute, day int64) error {
	if !r.way.relays(term) {
		err := r.Backend.Refund(ctx, term, c, minute, day)
		if err != nil && r.way.failed(term, err) {
			return nil
		}
		return err
	}
	_, err := r.send(&relayedCall{Term: term, Method: relayedRefund, Claim: *c, Minute: minute, Day: day})
	return err
}

// BeginWrite implements Backend. If its reply was lost there may be two intents, of which nobody removes one.
func (r *route) BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	made, err := r.own(term, func() (err error) {
		version, ok, err = r.Backend.BeginWrite(ctx, term, tenantID)
		return err
	})
	if made {
		return version, ok, err
	}
	result, err := r.send(&relayedCall{Term: term, Method: relayedBeginWrite, TenantID: tenantID})
	return result.Version, result.OK, err
}

// send has another server make a call. It takes Options.Timeout at most, and ends with the term.
func (r *route) send(c *relayedCall) (result relayedResult, err error) {
	peers := r.peers()
	if len(peers) == 0 {
		return result, errNotRelayed
	}
	if c.Method == relayedRefund {
		peers = peers[:1] // It must not be made twice.
	}
	r.mu.Lock()
	ending := r.ending
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ending, r.options.Timeout)
	defer cancel()
	text, err := json.Marshal(c)
	if err != nil {
		return result, err
	}
	got, err := r.options.Relay.Send(ctx, peers, text)
	if err != nil {
		return result, errors.Join(errNotRelayed, err)
	}
	if err := json.Unmarshal(got, &result); err != nil || !result.Done {
		if result.LaterTerm > 0 {
			return result, LaterTermError{result.LaterTerm}
		}
		return result, errNotRelayed
	}
	r.way.relayWorks()
	return result, nil
}

// relayPeers is how many servers are asked to make a call, if the first ones do not reply.
const relayPeers = 3

// peers returns the servers to ask, each time others.
func (r *route) peers() []string {
	all := r.options.Cluster.Peers()
	if len(all) == 0 {
		return nil
	}
	first := int(r.next.Add(1) % uint64(len(all)))
	return slices.Concat(all[first:], all[:first])[:min(len(all), relayPeers)]
}

// Relayed makes calls for other servers, by this server's own way only.
type Relayed struct {
	options *Options
	backend Backend
	health  *redisHealth
	mode    *redisMode
}

// Active reports whether other servers make this one's calls, because only its own way to Redis fails.
func (s *Relayed) Active() bool {
	t, ok := s.options.Cluster.Term()
	return ok && s.health.way.relays(t.Number)
}

// Serve makes a call of a Relay in the term in force, if that is the caller's and this server reaches Redis. What it learns is part of its own
// reports. The caller uses the result only if it is still in the term.
func (s *Relayed) Serve(ctx context.Context, call []byte) []byte {
	var c relayedCall
	if err := json.Unmarshal(call, &c); err != nil {
		return nil
	}
	t, ok := s.options.Cluster.Term()
	if !ok || t.Number != c.Term || !s.health.valid(&t) || s.health.over(t.Number) || s.health.way.relays(t.Number) {
		return encodeResult(relayedResult{})
	}
	ctx, cancel := s.options.bounded(ctx)
	defer cancel()
	result, err := s.call(ctx, &c)
	if err != nil {
		if !s.health.way.failed(t.Number, err) {
			s.health.lose(t.Number, err)
		}
		later := LaterTermError{}
		_ = errors.As(err, &later)
		return encodeResult(relayedResult{LaterTerm: later.Term})
	}
	result.Done = s.health.valid(&t)
	for i := range c.Requests {
		result.Done = result.Done && s.mode.accept(t.Number, &c.Requests[i], nil)
	}
	return encodeResult(result)
}

func (s *Relayed) call(ctx context.Context, c *relayedCall) (result relayedResult, err error) {
	switch c.Method {
	case relayedTake:
		if err = s.backend.Take(c.Term, c.Over, c.Requests); err == nil {
			for i := range c.Requests {
				result.Replies = append(result.Replies, c.Requests[i].Reply)
			}
		}
	case relayedInitTenant:
		err = s.backend.InitTenant(ctx, c.Term, c.TenantID, c.Baseline, c.Changing)
	case relayedInitKey:
		err = s.backend.InitKey(ctx, c.Term, c.TenantID, c.KeyID, c.Minute, c.Used)
	case relayedRefund:
		err = s.backend.Refund(ctx, c.Term, &c.Claim, c.Minute, c.Day)
	case relayedBeginWrite:
		result.Version, result.OK, err = s.backend.BeginWrite(ctx, c.Term, c.TenantID)
	case relayedEndWrite:
		err = s.backend.Take(c.Term, []WriteIntent{{c.TenantID, c.WriteVersion}}, nil)
	}
	return result, err
}

func encodeResult(r relayedResult) []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // It has only numbers.
	}
	return text
}
