package cluster

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// renewSoon is the interval between renewals while no term is in force, plus a millisecond for
	// each server.
	renewSoon    = 20 * time.Millisecond
	renewSoonFor = time.Millisecond
	leaveTimeout = 2 * time.Second
)

// Run renews until ctx ends, and then leaves. It renews at the fleet's interval, at once after
// Wake, and faster while no term is in force.
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
		case <-m.wakes:
		case <-timer.C:
		}
		err := m.Renew(ctx)
		if ctx.Err() == nil {
			failing = m.logFailure(failing, err)
		}
		timer.Reset(m.pause(err))
	}
}

// pause returns the time from a renewal that ended with err to the next one. It varies, so that
// servers that were woken together do not stay in step.
func (m *Member) pause(err error) time.Duration {
	m.renewMu.Lock()
	defer m.renewMu.Unlock()
	soon := renewSoon + time.Duration(m.last.LiveServers())*renewSoonFor
	switch _, inForce := m.Term(); {
	case err != nil:
		return RenewEvery
	case m.acked != m.sentAck:
		return 0
	case inForce && !m.busy:
		every := m.every()
		return every - every/20 + rand.N(every/10) //nolint:gosec // Only to keep servers apart.
	case m.busy:
		return rand.N(soon) //nolint:gosec // Only to keep servers apart.
	default:
		return soon
	}
}

// logFailure logs the first of several failed renewals in a row, and the first success after them.
func (m *Member) logFailure(failing bool, err error) bool {
	switch {
	case err != nil && !failing:
		m.log.Warn().Err(err).Msg("cluster renewal failed")
	case err == nil && failing:
		m.log.Info().Msg("cluster renewal succeeded again")
	}
	return err != nil
}
