package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options are the options of a Member. ServerID is required and unique to the process: a restarted
// server is another server.
type Options struct {
	ServerID string
	// Clock is time.Now if nil. Its times must have a monotonic reading in a real process.
	Clock func() time.Time
	Log   zerolog.Logger
}

// Member is this server's membership in the cluster.
type Member struct {
	leaseView

	store Store
	id    string
	log   zerolog.Logger
	wakes chan struct{}
	// highest is the highest term number that this server has seen.
	highest atomic.Int64

	// seenMu guards the fields that are set outside of renewals.
	seenMu sync.Mutex
	redis  string
	forgot int64
	onEnd  []func(ctx context.Context) error

	// renewMu guards the fields that only a renewal uses. It is held while OnEnd's functions run.
	renewMu sync.Mutex
	// held is the term that this server acts by, or has acted by and not ended yet; the zero Term
	// for none.
	held Term
	// endFailing is when the end of the held term first failed; zero if it has not failed.
	endFailing time.Time
	// acked is the term that the next heartbeat acknowledges. sentAck is the term that the last
	// successful heartbeat acknowledged.
	acked, sentAck int64
	sequence       int64
	// last is the state that the last successful renewal returned.
	last State
	// busy says that the last renewal found a change under way.
	busy bool
}

// NewMember returns a member that has not joined yet. Its first renewal joins.
func NewMember(s Store, o Options) *Member {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Member{
		leaseView: leaseView{clock: o.Clock, granted: make(chan struct{})},
		store:     s, id: o.ServerID, log: o.Log, wakes: make(chan struct{}, 1),
	}
}

// ID returns the id by which the other servers know this one.
func (m *Member) ID() string { return m.id }

// SetRedis sets the fingerprint of the Redis that this server reaches, "" for none, or CutOff.
// After a change the member renews at once.
func (m *Member) SetRedis(fingerprint string) {
	m.seenMu.Lock()
	changed := m.redis != fingerprint
	m.redis = fingerprint
	m.seenMu.Unlock()
	if changed {
		m.Wake()
	}
}

// Forgot says that Redis has lost counts of that term, which must end. The member renews at once.
func (m *Member) Forgot(number int64) {
	m.seenMu.Lock()
	m.forgot = number
	m.seenMu.Unlock()
	m.Wake()
}

// Saw says that a term with that number exists or existed: Redis may know a term that the store has
// lost. If the number is higher than all that this server has seen, the member renews at once.
func (m *Member) Saw(number int64) {
	if m.saw(number) {
		m.Wake()
	}
}

// saw reports whether the number is higher than all that this server has seen.
func (m *Member) saw(number int64) bool {
	for {
		highest := m.highest.Load()
		if number <= highest || number > maxHighest {
			return false
		}
		if m.highest.CompareAndSwap(highest, number) {
			return true
		}
	}
}

// OnEnd registers f, to be called when a term that this server acted by has ended, before this
// server acknowledges the next one, and before it leaves. Registered functions are called in order,
// one at a time, when Term already returns false. Once f returns nil, this server must do nothing
// more by the ended term and must have recorded what it did.
//
// After an error the next renewal calls all of them again, and the other servers wait for this one
// until they succeed. After FenceTimeout of errors this server sends no more heartbeats until they
// succeed, so that it is fenced. f must not call Renew or Leave.
func (m *Member) OnEnd(f func(ctx context.Context) error) {
	m.seenMu.Lock()
	defer m.seenMu.Unlock()
	m.onEnd = append(m.onEnd, f)
}

// Wake makes Run renew at once.
func (m *Member) Wake() {
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

// Renew sends one heartbeat and acts on the state that the store returns. It extends the lease of
// the term in force, ends a term that is over, or begins a new one that is active. If a new term is
// not active yet, the next heartbeat acknowledges it.
func (m *Member) Renew(ctx context.Context) error {
	m.renewMu.Lock()
	defer m.renewMu.Unlock()
	if !m.endFailing.IsZero() && m.clock().Sub(m.endFailing) >= FenceTimeout {
		// With heartbeats this server would block the others for ever; without them it is fenced.
		if err := m.end(ctx); err != nil {
			return err
		}
	}
	lease := leaseOf(m.every())
	// The time is taken before the heartbeat is sent. The store's Seen is later, so the others wait
	// longer than this lease.
	sent := m.clock()
	m.shorten(sent.Add(lease)) // The store may know of the new lease although its reply is lost.
	m.sequence++
	s, err := m.store.Renew(ctx, m.heartbeat(lease))
	m.failing.Store(err != nil)
	if err != nil {
		return fmt.Errorf("renew cluster membership: %w", err)
	}
	m.sentAck = m.acked
	until := sent.Add(lease)
	m.renewedUntil.Store(&until)
	if s.Term.Number < m.highest.Load() || s.Origin != "" && s.Origin != s.Database {
		// The store was set back, or Redis knows a term that the store has lost. This or another
		// server makes a higher term.
		m.busy = true
		return nil
	}
	m.saw(s.Term.Number)
	m.last, m.busy = s, s.Busy
	if s.Term.Number != m.held.Number {
		if err := m.end(ctx); err != nil {
			return err
		}
		m.acked = s.Term.Number
	}
	if s.Active {
		m.begin(s.Term, until)
	}
	return nil
}

// every is the interval between renewals.
func (m *Member) every() time.Duration { return renewEvery(m.last.LiveServers()) }

func (m *Member) heartbeat(lease time.Duration) Heartbeat {
	m.seenMu.Lock()
	defer m.seenMu.Unlock()
	return Heartbeat{
		ServerID: m.id, Redis: m.redis, Acked: m.acked, Lease: lease, Sequence: m.sequence, Highest: m.highest.Load(),
		Database: m.last.Database, Forgot: m.forgot,
	}
}

// end stops acting by the held term and calls OnEnd's functions. Without a held term it does
// nothing.
func (m *Member) end(ctx context.Context) error {
	m.revoke()
	if m.held.Number == 0 {
		return nil
	}
	m.seenMu.Lock()
	onEnd := slices.Clone(m.onEnd)
	m.seenMu.Unlock()
	for _, f := range onEnd {
		if err := f(ctx); err != nil {
			if m.endFailing.IsZero() {
				m.endFailing = m.clock()
			}
			return fmt.Errorf("end term %d: %w", m.held.Number, err)
		}
	}
	m.held, m.endFailing = Term{}, time.Time{}
	return nil
}

func (m *Member) begin(t Term, until time.Time) {
	isNew := m.held.Number != t.Number
	m.held = t
	m.grant(t, until)
	if isNew {
		m.log.Info().Int64("term", t.Number).Bool("redis", t.Redis != "").Bool("sole", t.Sole == m.id).
			Int("servers", t.Servers).Bool("set_back", t.SetBack == t.Number).Msg("term began")
	}
}

// Leave ends the held term as Renew does and removes this server, so that the others no longer wait
// for it. After an error this server may stay a member until it is fenced. A later renewal joins
// again.
func (m *Member) Leave(ctx context.Context) error {
	m.renewMu.Lock()
	defer m.renewMu.Unlock()
	if err := m.end(ctx); err != nil {
		return err
	}
	if err := m.store.Leave(ctx, m.id); err != nil {
		return fmt.Errorf("leave cluster: %w", err)
	}
	m.last = State{}
	return nil
}
