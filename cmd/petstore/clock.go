package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/storeclock"
)

// clockRenewals is a cluster.Store whose renewals also measure how far this server's clock is off.
type clockRenewals struct {
	cluster.Store
	clock *storeclock.Clock
	log   zerolog.Logger
	// off is what was last logged.
	off bool
}

// Renew implements cluster.Store.
func (r *clockRenewals) Renew(ctx context.Context, hb cluster.Heartbeat) (s cluster.State, err error) {
	err = r.clock.Measure(func() (time.Time, error) {
		s, err = r.Store.Renew(ctx, hb)
		return s.Now, err
	})
	if err == nil {
		r.logChange()
	}
	return s, err
}

// logChange logs when the clock begins to be off, and when it is right again.
func (r *clockRenewals) logChange() {
	switch off := r.clock.Off(); {
	case off && !r.off:
		r.log.Warn().Float64("ahead_seconds", r.clock.Ahead().Seconds()).Msg(clockOff(r.clock))
	case !off && r.off:
		r.log.Info().Msg("the clock of this server is right again")
	}
	r.off = r.clock.Off()
}

// clockOff says by how much the clock is off.
func clockOff(c *storeclock.Clock) string {
	direction := "ahead of"
	if c.Ahead() < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("the clock of this server is %v %s that of Postgres, by which limits, keys and bans are decided: set it by NTP",
		c.Ahead().Abs().Round(time.Second), direction)
}
