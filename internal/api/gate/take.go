package gate

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// recordTimeout bounds the wait of a request that must be recorded before it is admitted.
const recordTimeout = time.Second

// decideTries is how often a request is decided at most. It is decided again if the term of its
// decision ended before the request was counted as usage.
const decideTries = 3

// take counts the request in the caller's windows, and as usage.
func (g *Gate) take(ctx context.Context, r *Request, o *Outcome) error {
	for range decideTries {
		o.Decision = g.decide(ctx, r, o)
		if o.Decision.Undecided {
			o.uncount()
			return problem.Unavailable.WithCause(ErrUndecided).RetryAfter(1)
		}
		if !o.Decision.Admitted {
			return g.refuseOverLimit(ctx, r, o)
		}
		o.Counted = true
		if err := g.meter(ctx, r, o); err != nil {
			g.Refund(ctx, r, o)
			return problem.Unavailable.WithCause(err).RetryAfter(1)
		}
		if g.Limiter.InForce(&o.Decision) {
			return nil
		}
		// It was counted too late to be in this server's record of the ended term.
		g.unmeter(r, o)
		o.Counted = false
	}
	o.uncount()
	return problem.Unavailable.WithCause(ErrUndecided).RetryAfter(1)
}

// decide counts the request. If it will probably write to a catalogue, the decision also announces
// the write, so that the write needs no call to Redis of its own.
func (g *Gate) decide(ctx context.Context, r *Request, o *Outcome) (d limits.Decision) {
	if g.Announcer == nil || !r.Route.Writes {
		return g.Limiter.Take(ctx, Claim(o.Caller), r.Now)
	}
	o.ReleaseWrite()
	d, o.announced = g.Announcer.TakeWrite(ctx, Claim(o.Caller), r.Now)
	return d
}

// meter counts the request as usage. If several servers share the limits and too many of the
// tenant's requests are unrecorded, it waits until this one is recorded: unrecorded requests are
// lost if this server ends silently.
func (g *Gate) meter(ctx context.Context, r *Request, o *Outcome) error {
	most := usage.Unlimited
	if o.Decision.Term != 0 {
		most = limits.Margin(o.Caller.Tenant.Quota.PerMinute)
	}
	at := o.countedAt(r.Now)
	if g.Meter.Admitted(o.bucket, at, o.Decision.Minute.Number, most) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := g.Meter.Flush(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return nil
}

func (g *Gate) unmeter(r *Request, o *Outcome) {
	at := o.countedAt(r.Now)
	g.Meter.Refunded(o.bucket, at, o.Decision.Minute.Number)
}

// Refund returns a counted request to its tenant, because it ended in 5xx.
func (g *Gate) Refund(ctx context.Context, r *Request, o *Outcome) {
	if !o.Counted {
		return
	}
	o.Counted = false
	// The refund happens even if the client has disconnected.
	g.Limiter.Refund(context.WithoutCancel(ctx), Claim(o.Caller), o.Decision)
	g.unmeter(r, o)
	o.uncount()
}

// countedAt returns the instant at which the request counts. That is its own, unless it was counted
// in a day that had begun only by another server's clock: then it is the beginning of that day.
func (o *Outcome) countedAt(now time.Time) time.Time {
	if begins := limits.DayReset(o.Decision.Day.Number - 1); now.Unix() < begins {
		return time.Unix(begins, 0)
	}
	return now
}
