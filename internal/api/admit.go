package api

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// errUnsure: no server knows what remains to the tenant, and so the request, which nobody counted, must not be answered.
var errUnsure = errors.New("limits can't be decided while Postgres is away")

// admit decides whether the request may pass: for a caller by its ban and then all its windows at once, for anybody
// else by the address's bucket, which neither counts nor refuses OPTIONS: a browser asks it before its page may read even a
// 429. A free route shows how the caller's windows stand, counts in none and is refused by none. It returns the 429, a 503 when nobody can decide, or nil.
func (a *api) admit(x *exchange) error {
	switch {
	case x.caller != nil:
	case x.Request.Method == http.MethodOptions,
		// Who calls can't be known, and may well be a tenant.
		x.refusal != nil && x.refusal.code.status >= http.StatusInternalServerError:
		x.limits = addressLimits(a.Addresses.Peek(address(x), x.now))
		return nil
	default:
		return a.admitAddress(x)
	}
	if ban := x.caller.Banned(x.now); ban != nil {
		return a.refuseBanned(x, ban)
	}
	c := x.caller
	if x.route.free {
		x.decision = a.Limiter.Peek(x.Request.Context(), claim(c), x.now)
		x.limits = tenantLimits(&x.decision)
		return nil
	}
	x.decision = a.Limiter.Take(x.Request.Context(), claim(c), x.now)
	x.limits = tenantLimits(&x.decision)
	if !x.decision.Admitted {
		return a.refuseOverLimit(x)
	}
	if x.decision.Undecided {
		x.raise()
		return codeUnavailable.withCause(errUnsure).retryAfter(1)
	}
	x.counted = true
	a.Meter.Admitted(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	return nil
}

// claim is what one request of the caller asks of the limits.
func claim(c *keys.Caller) plans.Claim {
	return plans.Claim{TenantID: c.Tenant.ID, KeyID: c.KeyID, Quota: c.Tenant.Quota, KeyPerMinute: c.PerMinute}
}

// refund gives a request back that was counted: it ended in 5xx, which the caller could not help.
func (a *api) refund(x *exchange) {
	if !x.counted {
		return
	}
	x.counted = false
	c := x.caller
	// The client may have gone; its tenant gets the request back all the same.
	a.Limiter.Refund(context.WithoutCancel(x.Request.Context()), claim(c), x.decision)
	a.Meter.Refunded(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	x.raise()
}

// raise says what remains without the request.
func (x *exchange) raise() {
	windows, count := x.decision.Windows()
	for _, w := range windows[:count] {
		w.Remaining++
	}
	x.limits = tenantLimits(&x.decision)
}

// refuseOverLimit answers a request for which a window has no room.
func (a *api) refuseOverLimit(x *exchange) error {
	c, w := x.caller, x.decision.Binding()
	a.Meter.Refused(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	partial := x.decision.Partial || x.decision.Undecided
	if !partial {
		a.Strikes.Refused(x.Request.Context(), c, x.now)
	}
	refused := x.cache.overLimit(c, &w, partial, plans.RetryAfter(w.Reset, x.now))
	a.keepRefusal(x, usage.Refusal{Code: refused.code.name, Window: string(w.Name), Limit: w.Limit, Reset: w.Reset, Partial: partial})
	return refused
}

// refuseBanned answers a banned key. It counts in no window and is no strike.
func (a *api) refuseBanned(x *exchange, ban *keys.Ban) error {
	c := x.caller
	a.Meter.Refused(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	reset := ban.EndsAt.Add(time.Second - 1).Unix()
	x.limits = bannedLimits(c, reset)
	a.keepRefusal(x, usage.Refusal{Code: codeKeyBanned.name, Reset: reset})
	return banned(ban, reset, plans.RetryAfter(reset, x.now))
}

// keepRefusal tells of a refusal, for support. It comes with what refused; who and what was refused is added here.
func (a *api) keepRefusal(x *exchange, r usage.Refusal) {
	if a.Refusals == nil {
		return
	}
	r.At, r.RequestID, r.Method = x.now, x.id, methodName(x.Request.Method)
	r.TenantID, r.KeyID, r.Plan = x.caller.Tenant.ID, x.caller.KeyID, x.caller.Tenant.Plan
	if x.route.path != unmatched {
		r.Route = x.route.path
	}
	a.Refusals.Add(r)
}

func (a *api) admitAddress(x *exchange) error {
	b := a.takeAddress(x)
	x.limits = addressLimits(b)
	if !b.Reached {
		return nil
	}
	return addressOverLimit(b.Limit, plans.RetryAfter(b.Reset, x.now))
}

// takeAddress counts the request in the bucket of the client's address.
func (a *api) takeAddress(x *exchange) limiter.Context { return a.Addresses.Take(address(x), x.now) }

// address is the client's, the zero Addr when it is not known.
func address(x *exchange) netip.Addr {
	if len(x.Request.Header["X-Forwarded-For"]) == 0 {
		// It is the peer's, whomever we trust, and need not be made text again.
		peer, _ := netip.ParseAddrPort(x.Request.RemoteAddr) // zero with the error
		return peer.Addr().Unmap().WithZone("")
	}
	addr, _ := netip.ParseAddr(x.ClientIP()) // zero with the error
	return addr
}
