package gate

import (
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// MaxFreeReads is how many reads of failed requests per minute one server allows a tenant, and how
// many reads of keys and webhooks. A plan with fewer requests per minute allows only as many.
const MaxFreeReads = 600

// takeUncounted counts a request that counts in no window. It refuses requests beyond most in the
// tenant's minute. The refusal is by the window name, and its message begins with about. It is not
// a strike.
func (g *Gate) takeUncounted(
	r *Request, o *Outcome, c *limits.TenantMinute, name limits.WindowName, most int64, about string,
) error {
	reset, over := c.Take(o.Caller.Tenant.ID, most, r.Now)
	if !over {
		return nil
	}
	o.minute = Window{Name: name, Quota: most, Reset: reset}
	wait := limits.RetryAfter(reset, r.Now)
	b := problem.AppendCount([]byte(about), most, "request")
	e := problem.RateLimitExceeded.RetryIn(append(b, " per minute."...), wait)
	e.Reason = usage.Uncounted
	return e
}

// TakeKeyRead counts a read of keys or webhooks.
func (g *Gate) TakeKeyRead(r *Request, o *Outcome) error {
	return g.takeUncounted(
		r,
		o,
		&g.keyReads,
		"reads",
		min(MaxFreeReads, o.Caller.Tenant.Quota.PerMinute),
		"Your API keys and webhooks may be read by ",
	)
}

// TakeFreeRead counts a read of failed requests.
func (g *Gate) TakeFreeRead(r *Request, o *Outcome) error {
	return g.takeUncounted(
		r,
		o,
		&g.freeReads,
		"reads",
		min(MaxFreeReads, o.Caller.Tenant.Quota.PerMinute),
		"Your failed requests may be read by ",
	)
}

// takeKeyChange counts a change of keys or webhooks.
func (g *Gate) takeKeyChange(r *Request, o *Outcome) error {
	const about = "Your API keys and webhooks may be changed by "
	err := g.takeUncounted(r, o, g.KeyChanges, "changes", keys.MaxChanges, about)
	o.keyChange = err == nil
	return err
}
