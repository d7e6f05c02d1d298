package api

import (
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// allowance is what an answer says of the caller's limits: one window in the contract's three headers, and all of them
// in the two of the IETF's draft.
type allowance struct {
	terms
	// remaining is the shown window's, left each window's.
	remaining int64
	left      [3]int64
}

// terms are the part of an allowance that is the same for all requests of a while.
type terms struct {
	// count says which windows there are: see windows.
	count int
	// limit and reset (Unix seconds) are the shown window's, quotas and resets each window's.
	limit, reset   int64
	quotas, resets [3]int64
}

// window is one limit by name, and its seconds.
type window struct {
	name    string
	seconds int64
}

// windows are those of an allowance, by how many it has: the address's, the tenant's, the tenant's and the key's.
var windows = [4][]window{
	1: {{"ip", 60}},
	2: {{string(plans.Minute), 60}, {string(plans.Day), 86400}},
	3: {{string(plans.Minute), 60}, {string(plans.Day), 86400}, {string(plans.Key), 60}},
}

func tenantAllowance(d *plans.Decision) allowance {
	b := d.Binding()
	l := allowance{remaining: b.Remaining, terms: terms{count: 2, limit: b.Limit, reset: b.Reset}}
	l.set(0, d.Minute.Limit, d.Minute.Remaining, d.Minute.Reset)
	l.set(1, d.Day.Limit, d.Day.Remaining, d.Day.Reset)
	if d.Key.Limit > 0 {
		l.set(2, d.Key.Limit, d.Key.Remaining, d.Key.Reset)
		l.count = 3
	}
	return l
}

// bannedAllowance says that nothing passes in any window before the ban ends. It shows the narrowest.
func bannedAllowance(c *keys.Caller, reset int64) allowance {
	q := c.Tenant.Quota
	l := allowance{terms: terms{count: 2, limit: q.PerMinute, reset: reset}}
	l.set(0, q.PerMinute, 0, reset)
	l.set(1, q.PerDay, 0, reset)
	if c.PerMinute > 0 {
		l.set(2, c.PerMinute, 0, reset)
		l.count = 3
		l.limit = min(l.limit, c.PerMinute)
	}
	return l
}

func addressAllowance(b limiter.Context) allowance {
	l := allowance{remaining: b.Remaining, terms: terms{count: 1, limit: b.Limit, reset: b.Reset}}
	l.set(0, b.Limit, b.Remaining, b.Reset)
	return l
}

func (l *allowance) set(i int, quota, left, reset int64) {
	l.quotas[i], l.left[i], l.resets[i] = quota, left, reset
}
