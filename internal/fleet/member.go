package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options of a Member. ServerID is required, and another one for every process: one that is started again is another server.
type Options struct {
	ServerID string
	// Clock is time.Now when nil. What it returns must have a monotonic reading in a real process.
	Clock func() time.Time
	Log   zerolog.Logger
}

// Member is this server's part in the fleet.
type Member struct {
	store Store
	id    string
	clock func() time.Time
	log   zerolog.Logger

	lease atomic.Pointer[lease]
	// renewed is when the last renewal that the store answered was sent, failed whether the last one was not answered.
	renewed atomic.Pointer[time.Time]
	failed  atomic.Bool
	size    atomic.Int64
	kicks   chan struct{}

	// seen guards what others than Renew write.
	seen    sync.Mutex
	redis   string
	changed chan struct{}
	ends    []func(context.Context, Term) error

	// renewing guards what only a renewal touches, and is held during the calls of OnEnd.
	renewing sync.Mutex
	// held is the term that this server acts by or acted by last, until its end was told; the zero Term for none.
	held Term
	// unended is since when the end of the held term can't be told, zero when it can.
	unended time.Time
	// acked is what the next renewal says, told what the last one that succeeded said.
	acked, told int64
}

// lease is a term and until when this server may act by it without another renewal.
type lease struct {
	term  Term
	until time.Time
}

// NewMember returns a server that has not joined yet: its first renewal does.
func NewMember(s Store, o Options) *Member {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	m := &Member{store: s, id: o.ServerID, clock: o.Clock, log: o.Log,
		kicks: make(chan struct{}, 1), changed: make(chan struct{})}
	m.size.Store(1)
	return m
}

// ID returns the id by which the other servers know this one.
func (m *Member) ID() string { return m.id }

// Term returns the term in force; false when there is none: between two terms, or when the lease has run out.
func (m *Member) Term() (Term, bool) {
	l := m.lease.Load()
	if l == nil || !m.clock().Before(l.until) {
		return Term{}, false
	}
	return l.term, true
}

// Holds tells whether the term of that number is in force now. Who acts on an answer that took a while asks after it
// arrived: the process may have been frozen in between.
func (m *Member) Holds(number int64) bool {
	l := m.lease.Load()
	return l != nil && l.term.Number == number && m.clock().Before(l.until)
}

// Away tells whether the store does not answer, and has not for as long as a lease lasts: then no term is in force and none
// can begin. It is false between two terms, and in a process that was frozen and has not tried since.
func (m *Member) Away() bool {
	if !m.failed.Load() {
		return false
	}
	renewed := m.renewed.Load()
	return renewed == nil || !m.clock().Before(renewed.Add(Lease))
}

// Alone tells whether this is the only live server, and Redis does not decide.
func (m *Member) Alone() bool {
	l := m.lease.Load()
	return l != nil && l.term.Alone == m.id && m.clock().Before(l.until)
}

// Await returns the term in force, and waits for one where there is none. It returns the context's error when that ends first.
func (m *Member) Await(ctx context.Context) (Term, error) {
	for {
		changed := m.change()
		if t, ok := m.Term(); ok {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return Term{}, ctx.Err()
		case <-changed:
		}
	}
}

// change returns a channel that is closed at the next renewal that puts a term into force.
func (m *Member) change() <-chan struct{} {
	m.seen.Lock()
	defer m.seen.Unlock()
	return m.changed
}

func (m *Member) tellChange() {
	m.seen.Lock()
	defer m.seen.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// Size returns how many servers were alive at the last renewal, at least 1.
func (m *Member) Size() int { return int(m.size.Load()) }

// SetRedis says which Redis this server sees: a fingerprint, or "" when it was lost. A change is renewed at once.
func (m *Member) SetRedis(fingerprint string) {
	m.seen.Lock()
	changed := m.redis != fingerprint
	m.redis = fingerprint
	m.seen.Unlock()
	if changed {
		m.Kick()
	}
}

// OnEnd has f called when a term that this server acted by has ended, before it acknowledges the next one and before it
// leaves: in the order of registration, one at a time. Term already says that none is in force. When f returns, nothing
// more may be done by the ended term, and what was done has been reported. After an error all are called again
// with the next renewal, and until then this server holds up the others; when that has lasted for Silence it renews no more until
// it succeeds, and so is taken as silent. f must not call Renew or
// Leave.
func (m *Member) OnEnd(f func(ctx context.Context, ended Term) error) {
	m.seen.Lock()
	defer m.seen.Unlock()
	m.ends = append(m.ends, f)
}

// Kick has Run renew soon.
func (m *Member) Kick() {
	select {
	case m.kicks <- struct{}{}:
	default:
	}
}
