package api

import (
	"strconv"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// limitStatus is what a response says of the caller's limits: the binding window in the contract's
// three headers, and all windows in the two of the IETF's draft.
type limitStatus struct {
	limit, remaining, reset int64

	windows [3]windowStatus
	count   int
}

// windowStatus is one window. The reset is in Unix seconds.
type windowStatus struct {
	name                    limits.WindowName
	quota, remaining, reset int64
}

func (l *limitStatus) add(name limits.WindowName, quota, remaining, reset int64) {
	l.windows[l.count] = windowStatus{name, quota, remaining, reset}
	l.count++
}

func tenantLimits(d *limits.Decision) limitStatus {
	b := d.Binding()
	l := limitStatus{limit: b.Limit, remaining: b.Remaining, reset: b.Reset}
	windows, count := d.Windows()
	for _, w := range windows[:count] {
		l.add(w.Name, w.Limit, w.Remaining, w.Reset)
	}
	return l
}

// bannedLimits says that no window admits a request before the ban ends. The narrowest window
// binds.
func bannedLimits(c *keys.Caller, reset int64) limitStatus {
	q := c.Tenant.Quota
	l := limitStatus{limit: q.PerMinute, reset: reset}
	l.add(limits.Minute, q.PerMinute, 0, reset)
	l.add(limits.Day, q.PerDay, 0, reset)
	if c.PerMinute > 0 {
		l.add(limits.Key, c.PerMinute, 0, reset)
		l.limit = min(l.limit, c.PerMinute)
	}
	return l
}

func addressLimits(b limiter.Context) limitStatus {
	l := limitStatus{limit: b.Limit, remaining: b.Remaining, reset: b.Reset}
	l.add(limits.Address, b.Limit, b.Remaining, b.Reset)
	return l
}

// setHeaders sets the contract's X-RateLimit headers, and RateLimit-Policy and RateLimit as
// draft-ietf-httpapi-ratelimit-headers-11 has them: structured field lists of strings with
// parameters. Their values are parts of one string.
func (l *limitStatus) setHeaders(h *headers, now int64) {
	var space [320]byte
	b := strconv.AppendInt(space[:0], l.limit, 10)
	remaining := len(b)
	b = strconv.AppendInt(b, l.remaining, 10)
	reset := len(b)
	b = strconv.AppendInt(b, l.reset, 10)
	policy := len(b)
	for i := range l.windows[:l.count] {
		w := &l.windows[i]
		b = append(appendItem(b, i, w.name), ";q="...)
		b = append(strconv.AppendInt(b, w.quota, 10), ";w="...)
		b = strconv.AppendInt(b, w.name.Seconds(), 10)
	}
	status := len(b)
	for i := range l.windows[:l.count] {
		w := &l.windows[i]
		b = append(appendItem(b, i, w.name), ";r="...)
		b = append(strconv.AppendInt(b, w.remaining, 10), ";t="...)
		b = strconv.AppendInt(b, max(0, w.reset-now), 10)
	}
	text := string(b)
	h.set("X-RateLimit-Limit", text[:remaining])
	h.set("X-RateLimit-Remaining", text[remaining:reset])
	h.set("X-RateLimit-Reset", text[reset:policy])
	h.set("RateLimit-Policy", text[policy:status])
	h.set("RateLimit", text[status:])
}

// appendItem appends the list's item number i, which is a string.
func appendItem(b []byte, i int, name limits.WindowName) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return append(append(append(b, '"'), name...), '"')
}
