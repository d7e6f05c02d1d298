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
	// slowCall is the least duration of a slow call.
	slowCall = 100 * time.Millisecond
	// A slow call takes at least slowness times as long as usual. The usual duration is the
	// shortest of the last usualFor, because Postgres, or its standby, may be far away.
	slowness = 4
	usualFor = 10 * time.Minute
	// narrowest is the least number of calls that a gate lets in.
	narrowest = 2
)

// gate bounds how many calls a pool makes at the same time. While Postgres is slow, it lets in
// fewer. So Postgres finishes some calls in time, instead of beginning all and finishing none, and
// has time for heartbeats. The other calls wait in a queue, as long as it moves fast enough.
type gate struct {
	most int

	mu            sync.Mutex
	limit, inside int
	waiting       []chan struct{}
	since         time.Time // when the queue began
	// slow is the share of slow calls lately, mean the mean duration of a call.
	slow  float64
	mean  time.Duration
	usual [2]usual
}

// kind is the kind of a call. A call that writes may wait for a standby too.
type kind int

const (
	reads kind = iota
	writes
	unsampled
)

type unsampledKey struct{}

// Unsampled returns a context for calls that may take long because their tenant has much data. They
// say nothing of the speed of Postgres.
func Unsampled(ctx context.Context) context.Context {
	return context.WithValue(ctx, unsampledKey{}, true)
}

// usual is the shortest duration of the last usualFor, or of up to twice as long.
type usual struct {
	least, before time.Duration
	since         time.Time
}

// errBusy is the error of a call that did not get in.
var errBusy error = unavailableError{errors.New("more calls wait than a slow Postgres can answer in their time")}

// pass runs work when the gate lets it in, or at once without a gate.
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

// enter waits for a place, for at most half of ctx's remaining time. It returns errBusy at once if
// the queue has lasted and is too long for that wait. Calls that ended late together, after a
// stall, say nothing of the next ones: as in RFC 8289 (CoDel), only a queue that stays is bad.
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

// leave gives a call's place to the longest waiting call.
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
	} else if g.slow += (1 - g.slow) / 4; g.slow > 0.5 { // A few slow calls may only wait for a row.
		g.slow, g.limit = 0, max(narrowest, g.limit/2)
	}
}

// free gives a place to the longest waiting call. It is called with mu held.
func (g *gate) free() {
	g.inside--
	for g.inside < g.limit && len(g.waiting) > 0 {
		g.inside++
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// with returns the shortest duration, including this call's.
func (u *usual) with(took time.Duration) time.Duration {
	if now := time.Now(); now.Sub(u.since) > usualFor {
		u.before, u.least, u.since = cmp.Or(u.least, took), took, now
	}
	u.least = min(u.least, took)
	return min(u.least, u.before)
}
