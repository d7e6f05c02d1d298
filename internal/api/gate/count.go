package gate

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

var (
	// ErrUndecided: this server can't decide at the moment. The request was not counted, so it must
	// not be served. The caller is not at fault, so this is not a strike.
	ErrUndecided = errors.New(
		"limits can't be decided between two terms, without Postgres, or if only this server can't reach Redis",
	)
	// ErrUnrecorded: the tenant has too many unrecorded requests, and this one could not be
	// recorded in time.
	ErrUnrecorded = errors.New("usage can't be recorded")
)

// bucketOf returns where the caller's requests count as usage: under the assignment and version by
// which they are decided.
func bucketOf(c *keys.Caller) usage.Bucket {
	return usage.Bucket{
		TenantID:   c.Tenant.ID,
		KeyID:      c.KeyID,
		Assignment: c.Tenant.Assignment,
		Version:    c.Tenant.Version,
	}
}

// Claim returns what one request of the caller takes from its limits.
func Claim(c *keys.Caller) limits.Claim {
	return limits.Claim{TenantID: c.Tenant.ID, KeyID: c.KeyID, Quota: c.Tenant.Quota, KeyPerMinute: c.PerMinute}
}

// refuseOverLimit refuses a request that does not fit into a window.
func (g *Gate) refuseOverLimit(ctx context.Context, r *Request, o *Outcome) error {
	w := o.Decision.Binding()
	wait := limits.RetryAfter(w.Reset, r.Now)
	if !o.Decision.Partial {
		g.Strikes.Refused(ctx, o.Caller, o.Decision.Minute.Number, r.Now)
		for _, w := range []*limits.Window{&o.Decision.Day, &o.Decision.Month} {
			if w.Reached {
				g.Meter.UsedUp(usage.Refusal{
					TenantID: o.Caller.Tenant.ID, Window: string(w.Name), Limit: w.Limit, Reset: w.Reset,
					Assignment: o.Caller.Tenant.Assignment, Version: o.Caller.Tenant.Version,
				})
			}
		}
	}
	o.refused = true
	return g.overWindow(o.Caller, w, o.Decision.Partial, wait)
}

// refuseBanned refuses a banned key. The request counts in no window and is not a strike.
func (g *Gate) refuseBanned(r *Request, o *Outcome, ban *keys.Ban) error {
	o.banEnds = ban.EndsAt.Add(time.Second - 1).Unix()
	wait := limits.RetryAfter(o.banEnds, r.Now)
	o.refused = true
	return banned(ban, o.banEnds, wait, g.refusals.aboutBan)
}

// admitAddress counts the request in the bucket of the client's address.
func (g *Gate) admitAddress(r *Request, o *Outcome) error {
	b := g.Addresses.Take(r.Sender.Address(), r.Now)
	o.ofAddress, o.showsAddress, o.addressCounted = b, true, true
	if !b.Reached {
		return nil
	}
	wait := limits.RetryAfter(b.Reset, r.Now)
	return addressOverLimit(b.Limit, wait)
}

// CountAddress counts a request whose caller is not identified yet for its address.
func (g *Gate) CountAddress(r *Request, o *Outcome) {
	o.ShowAddress(g.Addresses.Take(r.Sender.Address(), r.Now))
}
