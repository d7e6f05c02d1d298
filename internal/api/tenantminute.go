package api

import (
	"sync"

	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// maxFreeReads is how often a tenant may read its failed requests in a minute of one server, if its plan allows as many of other requests.
const maxFreeReads = 600

// tenantMinute counts requests that count in no window, by tenant in the clock's minute, so that they don't become a load. It is safe for concurrent use.
type tenantMinute struct {
	mu     sync.Mutex
	minute int64
	made   map[int64]int64
}

// take counts a request. It refuses one more than most of the tenant's, as the window of that name, with a message that begins with about. That is no
// strike.
func (c *tenantMinute) take(x *exchange, name limits.WindowName, most int64, about string) error {
	minute := x.now.Unix() / 60
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.minute != minute || c.made == nil {
		c.minute, c.made = minute, map[int64]int64{}
	}
	if c.made[x.caller.Tenant.ID]++; c.made[x.caller.Tenant.ID] <= most {
		return nil
	}
	reset := (minute + 1) * 60
	x.limits = limitStatus{limit: most, reset: reset}
	x.limits.add(name, most, 0, reset)
	b := appendCount([]byte(about), most, "request")
	e := codeRateLimitExceeded.retryIn(append(b, " per minute."...), limits.RetryAfter(reset, x.now))
	e.reason = usage.Uncounted
	return e
}

// takeFreeRead counts a read of failed requests.
func (a *api) takeFreeRead(x *exchange) error {
	return a.freeReads.take(x, "reads", min(maxFreeReads, x.caller.Tenant.Quota.PerMinute), "Your failed requests may be read by ")
}
