package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// renewSoon is the time between renewals while no term is in force.
	renewSoon    = 20 * time.Millisecond
	leaveTimeout = 2 * time.Second
)

// Renew is one step: it says what this server sees and is ready for, and does what follows from the answer. A term that is
// in force lasts on, an ended one is given up, a new one that is active comes into force. A new one that is not yet active
// is acknowledged with the next step.
func (m *Member) Renew(ctx context.Context) error {
	m.renewing.Lock()
	defer m.renewing.Unlock()
	if err := m.endFirst(ctx); err != nil {
		return err
	}
	// Before it is sent: the store hears of it later, and so counts the silence from a later instant than this lease.
	sent := m.clock()
	s, err := m.store.Renew(ctx, Beat{ServerID: m.id, Redis: m.sees(), Acked: m.acked})
	m.failed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("renew part in the fleet: %w", err)
	}
	m.told = m.acked
	m.renewed.Store(&sent)
	m.size.Store(int64(max(1, s.Live(m.heardAt(s)))))
	if s.Term.Number != m.held.Number {
		if err := m.end(ctx); err != nil {
			return err
		}
		m.acked = s.Term.Number
	}
	if s.Active {
		m.begin(s.Term, sent.Add(Lease))
	}
	return nil
}

func (m *Member) sees() string {
	m.seen.Lock()
	defer m.seen.Unlock()
	return m.redis
}

// heardAt returns when the store heard of this server: the newest instant of its clock that s knows.
func (m *Member) heardAt(s State) time.Time {
	i := slices.IndexFunc(s.Servers, func(e Server) bool { return e.ID == m.id })
	if i < 0 {
		return time.Time{}
	}
	return s.Servers[i].Seen
}

// endFirst has the end of the held term told before anything else when that has failed for too long: with its renewals this
// server would hold up the others for ever, and without them they take it as silent.
func (m *Member) endFirst(ctx context.Context) error {
	if m.unended.IsZero() || m.clock().Sub(m.unended) < Silence {
		return nil
	}
	return m.end(ctx)
}

// end stops acting by the held term and has that told. Without one it does nothing.
func (m *Member) end(ctx context.Context) error {
	m.lease.Store(nil)
	if m.held.Number == 0 {
		return nil
	}
	m.seen.Lock()
	ends := slices.Clone(m.ends)
	m.seen.Unlock()
	for _, f := range ends {
		if err := f(ctx, m.held); err != nil {
			if m.unended.IsZero() {
				m.unended = m.clock()
			}
			return fmt.Errorf("end term %d: %w", m.held.Number, err)
		}
	}
	m.held, m.unended = Term{}, time.Time{}
	return nil
}

func (m *Member) begin(t Term, until time.Time) {
	fresh := m.held.Number != t.Number
	m.held = t
	m.lease.Store(&lease{term: t, until: until})
	m.tellChange()
	if fresh {
		m.log.Info().Int64("term", t.Number).Bool("redis", t.Redis != "").Bool("alone", t.Alone == m.id).
			Int("servers", t.Servers).Msg("term began")
	}
}

// Leave ends this server's part: what it held is told as at the end of a term, and the others no longer wait for it. After
// an error it is left to them to notice that it is gone. A renewal after it would join anew.
func (m *Member) Leave(ctx context.Context) error {
	m.renewing.Lock()
	defer m.renewing.Unlock()
	if err := m.end(ctx); err != nil {
		return err
	}
	if err := m.store.Leave(ctx, m.id); err != nil {
		return fmt.Errorf("leave the fleet: %w", err)
	}
	return nil
}

// Run renews until ctx ends, and then leaves: every RenewEvery, at once after a Kick, and faster while no term is in force.
func (m *Member) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
			defer cancel()
			return m.Leave(ctx)
		case <-m.kicks:
		case <-timer.C:
		}
		err := m.Renew(ctx)
		if ctx.Err() == nil {
			failing = m.logFailure(failing, err)
		}
		timer.Reset(m.pause(err))
	}
}

// pause returns how long after a renewal that ended in err the next one is due.
func (m *Member) pause(err error) time.Duration {
	m.renewing.Lock()
	owes := m.acked != m.told
	m.renewing.Unlock()
	switch _, inForce := m.Term(); {
	case err != nil, inForce:
		return RenewEvery
	case owes:
		return 0
	default:
		return renewSoon
	}
}

// logFailure logs the first of the renewals that fail in a row, and the one that succeeds after them.
func (m *Member) logFailure(failing bool, err error) bool {
	if failing != (err != nil) {
		if err != nil {
			m.log.Warn().Err(err).Msg("fleet can't be reached")
		} else {
			m.log.Info().Msg("fleet is reached again")
		}
	}
	return err != nil
}
