package distributed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

const (
	// joinFor is the age up to which a further write may share a write intent. So an intent lasts
	// for at least nine tenths of freshness.WriteIntentTTL from the start of a write.
	joinFor = time.Second
	// removeWithin is how long a finished intent may wait to be removed with another call to Redis.
	removeWithin = 40 * time.Millisecond
)

// intents are this server's write intents in Redis. The writes of a tenant share one: a write that
// begins while another is under way makes no call. A finished intent is removed with the next call
// to Redis, after removeWithin at the latest.
//
// An intent may be shared until its removal is sent. Until then no decision has a stamp of the
// catalogue. Afterwards decisions have a new stamp, different from all earlier ones.
//
// Only writes, and batches that remove an intent, take the lock.
type intents struct {
	clock func() time.Time
	wake  chan struct{}
	// waiting is the length of over. With it, a batch that removes nothing need not take the lock.
	waiting atomic.Int32

	mu sync.Mutex
	// latest has each tenant's intent to share. all are the intents whose removal was not sent;
	// some end by themselves. over are those of them that no write holds any more; a new write may
	// share one again.
	latest map[int64]*intent
	all    []*intent
	over   []*intent
}

// intent is a write intent. It is used with the lock of intents held.
type intent struct {
	of             *intents
	term, tenantID int64
	version        int64
	// left is a time before the call that left the intent in Redis.
	left time.Time
	// held is the number of requests that hold the intent because they will probably write. writes
	// is the number of writes under way.
	held, writes int
	// gone is true once the intent's removal was sent, or is left to its lifetime.
	gone bool
}

func newIntents(clock func() time.Time) *intents {
	return &intents{clock: clock, wake: make(chan struct{}, 1), latest: map[int64]*intent{}}
}

// share adds one request or one write to the tenant's intent, and returns it. It returns nil if no
// intent can be shared.
func (s *intents) share(term, tenantID int64, held, writes int) *intent {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.latest[tenantID]
	if in == nil || in.gone || in.term != term || s.clock().Sub(in.left) >= joinFor {
		return nil
	}
	in.held += held
	in.writes += writes
	return in
}

// add records an intent in Redis, with the requests and writes that hold it.
func (s *intents) add(in intent) *intent {
	in.of = s
	added := &in
	s.mu.Lock()
	s.latest[in.tenantID] = added
	s.all = append(s.all, added)
	first := len(s.all) == 1
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return added
}

// Release implements limits.Announced: a request that held the intent will begin no more writes.
func (in *intent) Release() {
	in.of.mu.Lock()
	defer in.of.mu.Unlock()
	in.held--
	in.of.used(in)
}

// end ends a write. If it is not settled, the intent ends by itself.
func (in *intent) end(settled bool) {
	in.of.mu.Lock()
	defer in.of.mu.Unlock()
	in.writes--
	in.gone = in.gone || !settled
	in.of.used(in)
}

// used queues the intent for removal if no write holds it. It is called with mu held.
func (s *intents) used(in *intent) {
	if in.held == 0 && in.writes == 0 && !in.gone {
		s.over = append(s.over, in)
		s.waiting.Store(int32(len(s.over)))
	}
}

// takeOver returns the finished intents of a term, which can no longer be shared.
func (s *intents) takeOver(term int64) (over []WriteIntent) {
	if s.waiting.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.over {
		if in.held == 0 && in.writes == 0 {
			over = s.remove(over, in, term)
		}
	}
	s.over = s.over[:0]
	s.waiting.Store(0)
	return over
}

// remove appends an intent to those to be removed, unless it was removed before or belongs to
// another term. It is called with mu held.
func (s *intents) remove(over []WriteIntent, in *intent, term int64) []WriteIntent {
	if in.gone || in.term != term {
		return over
	}
	in.gone = true
	if s.latest[in.tenantID] == in {
		delete(s.latest, in.tenantID)
	}
	return append(over, WriteIntent{in.tenantID, in.version})
}

// sweep forgets intents that were removed or belong to earlier terms, and returns the finished ones
// of the term. An intent that a request still holds is finished when it is too old to be shared:
// such a request has a slow body.
func (s *intents) sweep(term int64) (over []WriteIntent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, rest := s.clock(), s.all[:0]
	for _, in := range s.all {
		if in.writes == 0 && (in.held == 0 || now.Sub(in.left) >= joinFor) {
			over = s.remove(over, in, term)
		}
		if in.gone || in.term < term {
			if s.latest[in.tenantID] == in {
				delete(s.latest, in.tenantID)
			}
			continue
		}
		rest = append(rest, in)
	}
	clear(s.all[len(rest):])
	s.all = rest
	return over
}

func (s *intents) some() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) > 0
}

// removeAlways removes finished intents until ctx ends, and then the last ones.
func (m *inRedis) removeAlways(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-m.intents.wake:
		}
		for ctx.Err() == nil && m.intents.some() {
			select {
			case <-ctx.Done():
			case <-time.After(removeWithin):
				m.removeOver()
			}
		}
	}
	m.removeOver()
}

// removeOver removes the finished intents, if a term is in force. Intents of an ended term end with
// it.
func (m *inRedis) removeOver() {
	t, ok := m.options.Cluster.Term()
	if !ok {
		return
	}
	over := m.intents.sweep(t.Number)
	if len(over) == 0 || t.Redis == "" || m.reach.over(t.Number) {
		return
	}
	_ = m.reach.call(t.Number, func() error { return m.backend.Take(t.Number, over, nil) })
}

// writing is a request that will probably write, while it is decided.
type writing struct{ intent *intent }

// release gives the intent back when the request is decided again, or refused.
func (w *writing) release() {
	if w != nil && w.intent != nil {
		w.intent.Release()
		w.intent = nil
	}
}

// announced returns the write intent that the request holds, nil if there is none.
func (w *writing) announced() limits.Announced {
	if w.intent == nil {
		return nil
	}
	return w.intent
}

// writeWait is how many times longer than a request a write waits for a term.
const writeWait = 4

// errNotAnnounced: readers could not be told of a write.
var errNotAnnounced = errors.New("the write can't be announced to the other servers at the moment")

// lateWrite is shorter than any write intent lasts, and longer than a write takes in a process that
// is not frozen.
const lateWrite = freshness.WriteIntentTTL / 2

// Invalidator announces writes to catalogues. In a term in which Redis decides, it leaves a write
// intent in Redis. In any other term lists have no stamp. At the beginning of the next term they
// have none either, for as long as write intents last.
type Invalidator struct {
	options *Options
	backend Backend
	reach   *reach
	terms   *termWait
	init    *initializer
	mode    *inRedis
}

var _ freshness.Invalidator = (*Invalidator)(nil)

// BeginWrite implements freshness.Invalidator. It shares an intent of this server in Redis, or
// leaves one.
//
// If a write ends late, its intent may be gone, and lists from before it may be cached under the
// current stamp. The write is then announced again before it is acknowledged, which changes the
// stamp. If that fails, it is not acknowledged, and freshness.LateWrites tries again.
func (v *Invalidator) BeginWrite(ctx context.Context, tenantID int64, _ freshness.Kind) (*freshness.Write, error) {
	began := v.options.Clock()
	in, err := v.announce(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if in != nil {
		began = in.left
	}
	return freshness.NewWrite(func(settled bool) (err error) {
		if v.options.Clock().Sub(began) >= lateWrite {
			var again *intent
			if again, err = v.announce(ctx, tenantID); again != nil {
				again.end(settled)
			}
		}
		if in != nil {
			in.end(settled)
		}
		return err
	}), nil
}

// RemoveOver is one step of the removal of finished write intents. Tests that run step by step call
// it.
func (v *Invalidator) RemoveOver() { v.mode.removeOver() }

// announce tells readers that a write begins. The intent is nil in a term in which Postgres
// decides.
func (v *Invalidator) announce(ctx context.Context, tenantID int64) (*intent, error) {
	var over int64
	for range writeWait {
		t, err := v.terms.term(ctx, &waited{over: over})
		if errors.Is(err, errStoreUnreachable) {
			break
		}
		if err != nil {
			continue
		}
		if t.Redis == "" {
			return nil, nil //nolint:nilnil // There is no intent, and none is needed.
		}
		if in := v.mode.intents.share(t.Number, tenantID, 0, 1); in != nil {
			if v.reach.valid(&t) {
				return in, nil
			}
			in.end(false)
			over = t.Number
			continue
		}
		left := v.options.Clock()
		version, err := v.leaveIntent(ctx, &t, tenantID)
		if err == nil {
			return v.mode.intents.add(
				intent{term: t.Number, tenantID: tenantID, version: version, left: left, writes: 1},
			), nil
		}
		over = t.Number
	}
	return nil, errNotAnnounced
}

// leaveIntent leaves a write intent in Redis. It initializes the tenant there if nobody has.
func (v *Invalidator) leaveIntent(ctx context.Context, t *cluster.Term, tenantID int64) (version int64, err error) {
	for range v.options.initTime() / initPause {
		var ok bool
		err := v.reach.call(t.Number, func() (err error) {
			bounded, cancel := v.options.bounded(ctx)
			defer cancel()
			version, ok, err = v.backend.BeginWrite(bounded, t.Number, tenantID)
			return err
		})
		switch {
		case err != nil:
			return 0, errTermOver
		case !v.reach.valid(t):
			return 0, errTermOver
		case ok:
			return version, nil
		}
		missing := Request{Claim: limits.Claim{TenantID: tenantID}, Reply: Reply{Status: Uninitialized}}
		known, err := v.init.initialize(ctx, t, &missing, v.options.Instant())
		if err != nil {
			return 0, err
		}
		if known {
			v.options.Sleep(initPause)
		}
	}
	v.reach.lose(t.Number, errForgotten)
	return 0, errTermOver
}
