package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

var (
	// errUndecided: this server can't decide at the moment. The request was not counted, so it must
	// not be served. That is not the caller's fault: it counts in no window and is no strike.
	errUndecided = errors.New(
		"limits can't be decided between two terms, without Postgres, or if only this server can't reach Redis",
	)
	// errUnrecorded: the request could not be recorded in time, and too many of its tenant are not
	// recorded yet.
	errUnrecorded = errors.New("usage can't be recorded")
)

// recordTimeout bounds the wait of a request that must be recorded before it is admitted.
const recordTimeout = time.Second

// admit decides whether the request is served: for a caller by its ban and then by all windows at
// once, for anybody else by the address's bucket. OPTIONS is neither counted nor refused, because a
// browser sends it before its page may read even a 429. An unmetered route shows the caller's
// windows, counts in none and is refused by none. admit returns nil, the 429, or a 503 if nobody
// can decide.
func (a *api) admit(x *exchange) error {
	switch {
	case x.simulated != nil:
		return a.admitSimulated(x)
	case x.caller != nil:
	case x.addressCounted:
		return nil
	case x.Request.Method == http.MethodOptions,
		// The caller is not known, and may be a tenant.
		x.refusal != nil && x.refusal.code.status >= http.StatusInternalServerError:
		x.limits = addressLimits(a.Addresses.Peek(a.address(x), x.now))
		return nil
	default:
		return a.admitAddress(x)
	}
	if ban := x.caller.Banned(x.now); ban != nil {
		return a.refuseBanned(x, ban)
	}
	c := x.caller
	if x.route.unmetered && (x.route.counts == nil || !x.route.counts(x.Request.URL.RawQuery)) {
		x.decision = a.Limiter.Peek(x.Request.Context(), claim(c), x.now)
		x.limits = tenantLimits(&x.decision)
		a.Meter.Used(bucket(c), x.now)
		return nil
	}
	return a.take(x)
}

// decideTries is how often a request is decided if its term ends each time before it is noted as
// usage.
const decideTries = 3

// take counts the request in the caller's windows, and as usage.
func (a *api) take(x *exchange) error {
	for range decideTries {
		x.decision = a.decide(x)
		x.limits = tenantLimits(&x.decision)
		if x.decision.Undecided {
			x.uncount()
			return codeUnavailable.withCause(errUndecided).retryAfter(1)
		}
		if !x.decision.Admitted {
			return a.refuseOverLimit(x)
		}
		x.counted = true
		if err := a.meter(x); err != nil {
			a.refund(x)
			return codeUnavailable.withCause(err).retryAfter(1)
		}
		if a.Limiter.InForce(&x.decision) {
			return nil
		}
		// It was noted too late to be part of what this server said of the term that has ended.
		a.unmeter(x)
		x.counted = false
	}
	x.uncount()
	return codeUnavailable.withCause(errUndecided).retryAfter(1)
}

// decide counts the request. One that will probably write to a catalogue is announced with the
// decision: then the write itself waits for no call to Redis.
func (a *api) decide(x *exchange) (d limits.Decision) {
	if a.announcer == nil || !x.route.writes {
		return a.Limiter.Take(x.Request.Context(), claim(x.caller), x.now)
	}
	x.releaseWrite()
	d, x.announced = a.announcer.TakeWrite(x.Request.Context(), claim(x.caller), x.now)
	return d
}

// releaseWrite says that the request begins no further write.
func (x *exchange) releaseWrite() {
	if x.announced != nil {
		x.announced.Release()
		x.announced = nil
	}
}

// meter notes the request as usage. If several servers share the limits, it first has the request
// recorded when too many of the tenant's are not: that many are unknown if this server ends
// silently.
func (a *api) meter(x *exchange) error {
	c, most := x.caller, usage.Unlimited
	if x.decision.Term != 0 {
		most = limits.Margin(c.Tenant.Quota.PerMinute)
	}
	if a.Meter.Admitted(bucket(c), x.countedAt(), x.decision.Minute.Number, most) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.Request.Context()), recordTimeout)
	defer cancel()
	if err := a.Meter.Flush(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	return nil
}

func (a *api) unmeter(x *exchange) {
	a.Meter.Refunded(bucket(x.caller), x.countedAt(), x.decision.Minute.Number)
}

// bucket returns where the requests of the caller count as usage: under the assignment and version
// by which they are decided.
func bucket(c *keys.Caller) usage.Bucket {
	return usage.Bucket{
		TenantID:   c.Tenant.ID,
		KeyID:      c.KeyID,
		Assignment: c.Tenant.Assignment,
		Version:    c.Tenant.Version,
	}
}

// countedAt returns the instant at which the request counts: its own, or the beginning of the day
// in which it was counted, if that had begun by the clock of another server.
func (x *exchange) countedAt() time.Time {
	if begins := limits.DayReset(x.decision.Day.Number - 1); x.now.Unix() < begins {
		return time.Unix(begins, 0)
	}
	return x.now
}

// claim returns what one request of the caller takes from its limits.
func claim(c *keys.Caller) limits.Claim {
	return limits.Claim{TenantID: c.Tenant.ID, KeyID: c.KeyID, Quota: c.Tenant.Quota, KeyPerMinute: c.PerMinute}
}

// refund returns a counted request to its tenant, because it ended in 5xx.
func (a *api) refund(x *exchange) {
	if !x.counted {
		return
	}
	x.counted = false
	c := x.caller
	// Also if the client has disconnected.
	a.Limiter.Refund(context.WithoutCancel(x.Request.Context()), claim(c), x.decision)
	a.unmeter(x)
	x.uncount()
}

// uncount shows the limits without the request.
func (x *exchange) uncount() {
	windows, count := x.decision.Windows()
	for _, w := range windows[:count] {
		w.Remaining++
	}
	x.limits = tenantLimits(&x.decision)
}

// refuseOverLimit refuses a request for which a window has no room.
func (a *api) refuseOverLimit(x *exchange) error {
	c, w := x.caller, x.decision.Binding()
	a.Meter.Refused(bucket(c), x.now)
	degraded := ""
	if x.decision.Partial {
		degraded = shareUsedUp
	} else {
		a.Strikes.Refused(x.Request.Context(), c, x.decision.Minute.Number, x.now)
	}
	return overLimit(c, w, degraded, limits.RetryAfter(w.Reset, x.now))
}

// refuseBanned refuses a banned key. The request counts in no window and is no strike.
func (a *api) refuseBanned(x *exchange, ban *keys.Ban) error {
	c := x.caller
	a.Meter.Refused(bucket(c), x.now)
	reset := ban.EndsAt.Add(time.Second - 1).Unix()
	x.limits = bannedLimits(c, reset)
	return banned(ban, reset, limits.RetryAfter(reset, x.now), a.refusals.aboutBan)
}

// admitAddress counts the request in the bucket of the client's address.
func (a *api) admitAddress(x *exchange) error {
	b := a.Addresses.Take(a.address(x), x.now)
	x.limits, x.addressCounted = addressLimits(b), true
	if !b.Reached {
		return nil
	}
	return addressOverLimit(b.Limit, limits.RetryAfter(b.Reset, x.now))
}

// address returns the client's address, unmapped and without a zone; the zero Addr if it is not
// known.
func (c *Config) address(x *exchange) netip.Addr {
	if len(c.TrustedProxies) == 0 || len(x.Request.Header["X-Forwarded-For"]) == 0 {
		return peer(x.Request.RemoteAddr)
	}
	withoutPorts(x.Request.Header)
	addr, _ := netip.ParseAddr(x.ClientIP()) // zero with the error
	return addr.Unmap().WithZone("")
}

// peer returns the address of an address with a port, the zero Addr if it is none.
func peer(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote) // zero with the error
	return at.Addr().Unmap().WithZone("")
}

// maxForwarded is how many items of X-Forwarded-For are read. The last ones are the proxies'; the
// others are as the client wrote them.
const maxForwarded = 32

// withoutPorts removes the ports from X-Forwarded-For: some proxies write 192.0.2.1:1234 or
// [2001:db8::1]:1234, which Gin takes for no address. It keeps the last maxForwarded items: reading
// 30,000 would take milliseconds.
func withoutPorts(h http.Header) {
	text := strings.Join(h["X-Forwarded-For"], ",")
	from := len(text)
	for n := 0; n < maxForwarded && from >= 0; n++ {
		from = strings.LastIndexByte(text[:from], ',')
	}
	items := strings.Split(text[from+1:], ",")
	for i, item := range items {
		if a, err := netip.ParseAddrPort(strings.TrimSpace(item)); err == nil {
			items[i] = a.Addr().String()
		}
	}
	h["X-Forwarded-For"] = []string{strings.Join(items, ",")}
}
