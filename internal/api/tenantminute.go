package api

import (
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// maxFreeReads is how often a tenant may read its failed requests, and how often its keys, in a
// minute of one server, if its plan allows as many of other requests.
const maxFreeReads = 600

// takeUncounted counts a request that counts in no window. It refuses one more than most of the
// tenant's, as the window of that name, with a message that begins with about. That is no strike.
func (x *exchange) takeUncounted(c *limits.TenantMinute, name limits.WindowName, most int64, about string) error {
	reset, over := c.Take(x.caller.Tenant.ID, most, x.now)
	if !over {
		return nil
	}
	x.limits = limitStatus{limit: most, reset: reset}
	x.limits.add(name, most, 0, reset)
	b := appendCount([]byte(about), most, "request")
	e := codeRateLimitExceeded.retryIn(append(b, " per minute."...), limits.RetryAfter(reset, x.now))
	e.reason = usage.Uncounted
	return e
}

// takeKeyRead counts a read of keys.
func (a *api) takeKeyRead(x *exchange) error {
	return x.takeUncounted(
		&a.keyReads,
		"reads",
		min(maxFreeReads, x.caller.Tenant.Quota.PerMinute),
		"Your API keys may be read by ",
	)
}

// takeFreeRead counts a read of failed requests.
func (a *api) takeFreeRead(x *exchange) error {
	return x.takeUncounted(
		&a.freeReads,
		"reads",
		min(maxFreeReads, x.caller.Tenant.Quota.PerMinute),
		"Your failed requests may be read by ",
	)
}
