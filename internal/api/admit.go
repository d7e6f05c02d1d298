package api

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// admit decides whether the request may pass: for a caller by its ban and then both its windows at once, for anybody
// else by the address's bucket, which neither counts nor refuses OPTIONS: a browser asks it before its page may read even a
// 429. It returns the 429, or nil.
func (a *api) admit(x *exchange) error {
	switch {
	case x.caller != nil:
	case x.Request.Method == http.MethodOptions,
		// Who calls can't be known, and may well be a tenant.
		x.refusal != nil && x.refusal.code.status >= http.StatusInternalServerError:
		x.limits = addressAllowance(a.Addresses.Peek(address(x), x.now))
		return nil
	default:
		return a.admitAddress(x)
	}
	if ban := x.caller.Banned(x.now); ban != nil {
		return a.refuseBanned(x, ban)
	}
	c := x.caller
	x.decision = a.Limiter.Take(x.Request.Context(), claim(c), x.now)
	x.limits = tenantAllowance(x.decision)
	if !x.decision.Admitted {
		return a.refuseOverLimit(x)
	}
	x.counted = true
	a.Meter.Admitted(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	return nil
}

// claim is what one request of the caller asks of the limits.
func claim(c *keys.Caller) plans.Claim {
	return plans.Claim{TenantID: c.Tenant.ID, KeyID: c.KeyID, Quota: c.Tenant.Quota}
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
	windows, count := x.decision.Windows()
	for _, w := range windows[:count] {
		w.Remaining++
	}
	x.limits = tenantAllowance(x.decision)
}

func (a *api) refuseOverLimit(x *exchange) error {
	c, w := x.caller, x.decision.Binding()
	a.Meter.Refused(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	code := codeRateLimitExceeded
	if w.Name == plans.Day {
		code = codeDailyQuotaExceeded
	}
	wait := plans.RetryAfter(w.Reset, x.now)
	message := "Plan " + c.Tenant.Plan + " allows " + count(w.Limit, "request") + " per " + string(w.Name) + "."
	if x.decision.Share {
		// The tenant may have kept to its plan, so this is no strike.
		message += " Our servers can't share their counters at the moment, and this one's part is used up."
	} else {
		// A client that hangs up at once must not escape its strike.
		a.Strikes.Refused(context.WithoutCancel(x.Request.Context()), c, x.now)
	}
	return code.because(message + " Retry in " + count(wait, "second") + ".").after(wait)
}

// refuseBanned answers a banned key. It counts in no window and is no strike.
func (a *api) refuseBanned(x *exchange, ban *keys.Ban) error {
	c := x.caller
	a.Meter.Refused(c.Tenant.ID, c.KeyID, c.Tenant.Plan, x.now)
	reset := ban.EndsAt.Add(time.Second - 1).Unix()
	x.limits = bannedAllowance(c.Tenant.Quota, reset)
	wait := plans.RetryAfter(reset, x.now)
	return codeKeyBanned.because("This API key is banned until " + time.Unix(reset, 0).UTC().Format(time.RFC3339) + ": " +
		strings.TrimRight(ban.Reason, ".") + ". Retry in " + count(wait, "second") + ".").after(wait)
}

func (a *api) admitAddress(x *exchange) error {
	b := a.takeAddress(x)
	x.limits = addressAllowance(b)
	if !b.Reached {
		return nil
	}
	wait := plans.RetryAfter(b.Reset, x.now)
	return codeRateLimitExceeded.because("Without a valid API key an address may send " + count(b.Limit, "request") +
		" per minute. Retry in " + count(wait, "second") + ".").after(wait)
}

// takeAddress counts the request in the bucket of the client's address.
func (a *api) takeAddress(x *exchange) limiter.Context { return a.Addresses.Take(address(x), x.now) }

// address is the client's, the zero Addr when it is not known.
func address(x *exchange) netip.Addr {
	addr, _ := netip.ParseAddr(x.ClientIP()) // zero with the error
	return addr
}

// count is "1 second" or "2 seconds".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}
