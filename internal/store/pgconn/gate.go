package pgconn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// slowCall is what a slow call takes at least.
	slowCall = 100 * time.Millisecond
	// slowness is by how much a slow call takes longer than the shortest one of the last usualFor
	// at least: Postgres, or its standby, may be far away.
	slowness = 4
	usualFor = 10 * time.Minute
	// narrowest is how many calls a gate lets in at least.
	narrowest = 2
)

// gate bounds how many calls a pool makes at the same time. While Postgres is slow they are fewer:
// it then does one call after another in the time that each has, rather than begin all and end
// none, and has time for heartbeats. The others wait in a queue, as far as it moves fast enough.
type gate struct {
	most int

	mu            sync.Mutex
	limit, inside int
	waiting       []chan struct{}
	since         time.Time // when the queue began
	// slow is the share of slow calls lately, mean how long a call took.
	slow  float64
	mean  time.Duration
	usual [2]usual
}

// kind is what a call does. One that writes may wait for a standby too.
type kind int

const (
	reads kind = iota
	writes
	unsampled
)

type unsampledKey struct{}

// Unsampled returns a context for calls that say nothing of how fast Postgres is: they may take
// long because their tenant has much.
func Unsampled(ctx context.Context) context.Context {
	return context.WithValue(ctx, unsampledKey{}, true)
}

// usual is the shortest duration of the last usualFor, up to twice as long.
type usual struct {
	least, before time.Duration
	since         time.Time
}

// errBusy is that of a call that did not get in.
var errBusy error = unavailableError{errors.New("more calls wait than a slow Postgres can answer in their time")}

// pass has work run when it is let in, or at once without a gate.
func (g *gate) pass(ctx context.Context, k kind, work func(context.Context) error) error {
	if g == nil {
		return runIn(ctx, work)
	}
	if err := g.enter(ctx); err != nil {
		return translateIn(ctx, err)
	}
	if ctx.Value(unsampledKey{}) != nil {
		k = unsampled
	}
	began := time.Now()
	defer func() { g.leave(k, time.Since(began)) }()
	return runIn(ctx, work)
}

// enter waits for a place, at most half of what is left of ctx. It returns errBusy at once if the
// queue is too long for that, and not new: calls that ended late together, after a stall, say
// nothing of the next ones (as in RFC 8289, CoDel, only a queue that stays is bad).
func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	if g.inside < g.limit && len(g.waiting) == 0 {
		g.inside++
		g.mu.Unlock()
		return nil
	}
	end, _ := ctx.Deadline()
	most := time.Until(end) / 2
	if now := time.Now(); len(g.waiting) == 0 {
		g.since = now
	} else if now.Sub(g.since) > most && g.mean*time.Duration(1+len(g.waiting)/g.limit) > most {
		g.mu.Unlock()
		return errBusy
	}
	place := make(chan struct{})
	g.waiting = append(g.waiting, place)
	g.mu.Unlock()

	select {
	case <-place:
		return nil
	case <-time.After(most):
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, place); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.free()
	}
	return cmp.Or(ctx.Err(), errBusy)
}

// leave gives the place of a call to who waits the longest.
func (g *gate) leave(k kind, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.free()
	if k == unsampled {
		return
	}
	g.mean += (took - g.mean) / 8
	if took < max(slowCall, slowness*g.usual[k].with(took)) {
		g.slow -= g.slow / 4
		if len(g.waiting) > 0 {
			g.limit = min(g.most, g.limit+1)
		}
	} else if g.slow += (1 - g.slow) / 4; g.slow > 0.5 { // Of the others some may wait for a row.
		g.slow, g.limit = 0, max(narrowest, g.limit/2)
	}
}

// free gives a place to who waits the longest. The caller holds mu.
func (g *gate) free() {
	g.inside--
	for g.inside < g.limit && len(g.waiting) > 0 {
		g.inside++
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// with returns the shortest duration, that of this call included.
func (u *usual) with(took time.Duration) time.Duration {
	if now := time.Now(); now.Sub(u.since) > usualFor {
		u.before, u.least, u.since = cmp.Or(u.least, took), took, now
	}
	u.least = min(u.least, took)
	return min(u.least, u.before)
}
