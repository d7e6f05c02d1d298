package api

import (
	"strconv"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// allowance is what an answer says of the caller's limits: one window in the contract's three headers, and all of them
// in the two of the IETF's draft.
type allowance struct {
	limit, remaining, reset int64
	windows                 [3]window
	count                   int
}

// window is one limit by name: how many requests in how many seconds, how many remain until when (Unix seconds).
type window struct {
	name                             string
	quota, seconds, remaining, reset int64
}

func tenantAllowance(d *plans.Decision) allowance {
	b := d.Binding()
	l := allowance{limit: b.Limit, remaining: b.Remaining, reset: b.Reset, count: 2, windows: [3]window{
		{string(plans.Minute), d.Minute.Limit, 60, d.Minute.Remaining, d.Minute.Reset},
		{string(plans.Day), d.Day.Limit, 86400, d.Day.Remaining, d.Day.Reset},
	}}
	if d.Key.Limit > 0 {
		l.windows[2] = window{string(plans.Key), d.Key.Limit, 60, d.Key.Remaining, d.Key.Reset}
		l.count = 3
	}
	return l
}

// bannedAllowance says that nothing passes in any window before the ban ends. It shows the narrowest.
func bannedAllowance(c *keys.Caller, reset int64) allowance {
	q := c.Tenant.Quota
	l := allowance{limit: q.PerMinute, reset: reset, count: 2, windows: [3]window{
		{name: string(plans.Minute), quota: q.PerMinute, seconds: 60, reset: reset},
		{name: string(plans.Day), quota: q.PerDay, seconds: 86400, reset: reset},
	}}
	if c.PerMinute > 0 {
		l.windows[2] = window{name: string(plans.Key), quota: c.PerMinute, seconds: 60, reset: reset}
		l.count = 3
		l.limit = min(l.limit, c.PerMinute)
	}
	return l
}

func addressAllowance(b limiter.Context) allowance {
	return allowance{limit: b.Limit, remaining: b.Remaining, reset: b.Reset, count: 1, windows: [3]window{
		{"ip", b.Limit, 60, b.Remaining, b.Reset},
	}}
}

func (l *allowance) appendPolicies(b []byte) []byte {
	for i, w := range l.windows[:l.count] {
		b = appendItem(b, i, w.name)
		b = strconv.AppendInt(append(b, ";q="...), w.quota, 10)
		b = strconv.AppendInt(append(b, ";w="...), w.seconds, 10)
	}
	return b
}

func (l *allowance) appendStates(b []byte, now int64) []byte {
	for i, w := range l.windows[:l.count] {
		b = appendItem(b, i, w.name)
		b = strconv.AppendInt(append(b, ";r="...), w.remaining, 10)
		b = strconv.AppendInt(append(b, ";t="...), max(0, w.reset-now), 10)
	}
	return b
}

func appendItem(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return append(append(append(b, '"'), name...), '"')
}
