package server

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/storeclock"
)

// clockRenewals is a cluster.Store. Its renewals also measure how far this server's clock is off.
type clockRenewals struct {
	cluster.Store
	clock *storeclock.Clock
	log   zerolog.Logger
	// note tells staff how far the clock is ahead.
	note func(ctx context.Context, serverID string, ahead time.Duration) error
	// off is the state that was last logged, noted the one that staff were last told.
	off     bool
	noted   time.Duration
	notedAt time.Time
}

// noteEvery is how often staff are told again of a clock that is off: its server's row may have
// been removed meanwhile.
const noteEvery = time.Minute

// Renew implements cluster.Store.
func (r *clockRenewals) Renew(ctx context.Context, hb cluster.Heartbeat) (s cluster.State, err error) {
	err = r.clock.Measure(func() (time.Time, error) {
		s, err = r.Store.Renew(ctx, hb)
		return s.Now, err
	})
	if err == nil {
		r.logChange()
		r.noteChange(ctx, hb.ServerID)
	}
	return s, err
}

// noteChange tells staff when the clock goes off by more than a second, and when it is right again.
// After a failure it tries again with the next renewal.
func (r *clockRenewals) noteChange(ctx context.Context, serverID string) {
	ahead := r.clock.Ahead()
	if !r.off {
		ahead = 0
	}
	same := (ahead-r.noted).Abs() <= storeclock.Tolerance && (ahead == 0) == (r.noted == 0)
	if same && (ahead == 0 || time.Since(r.notedAt) < noteEvery) {
		return
	}
	if err := r.note(ctx, serverID, ahead); err == nil {
		r.noted, r.notedAt = ahead, time.Now()
	}
}

// logChange logs when the clock goes off, and when it is right again.
func (r *clockRenewals) logChange() {
	off := r.clock.Off()
	switch {
	case off && !r.off:
		r.log.Warn().Float64("ahead_seconds", r.clock.Ahead().Seconds()).Msg(clockOff(r.clock))
	case !off && r.off:
		r.log.Info().Msg("the clock of this server is right again")
	}
	r.off = off
}

// clockOff says how far the clock is off.
func clockOff(c *storeclock.Clock) string {
	direction := "ahead of"
	if c.Ahead() < 0 {
		direction = "behind"
	}
	return fmt.Sprintf(
		"the clock of this server is %v %s that of Postgres, by which limits, keys and bans are decided: set it by NTP",
		c.Ahead().Abs().Round(time.Second),
		direction,
	)
}
