package api

import (
	"strconv"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/limits"
)

// setLimits sets the contract's X-RateLimit headers, and RateLimit-Policy and RateLimit as in
// draft-ietf-httpapi-ratelimit-headers-11: structured field lists of strings with parameters. From
// the first request above the included ones on it sets X-Quota-Overage too. Their values are parts of
// one string.
func (h *headers) setLimits(l *gate.Limits, now int64) {
	var space [384]byte
	b := strconv.AppendInt(space[:0], l.Limit, 10)
	remaining := len(b)
	b = strconv.AppendInt(b, l.Remaining, 10)
	reset := len(b)
	b = strconv.AppendInt(b, l.Reset, 10)
	policy := len(b)
	for i := range l.Windows[:l.Count] {
		w := &l.Windows[i]
		b = append(appendItem(b, i, w.Name), ";q="...)
		b = append(strconv.AppendInt(b, w.Quota, 10), ";w="...)
		b = strconv.AppendInt(b, w.Seconds, 10)
	}
	status := len(b)
	for i := range l.Windows[:l.Count] {
		w := &l.Windows[i]
		b = append(appendItem(b, i, w.Name), ";r="...)
		b = append(strconv.AppendInt(b, w.Remaining, 10), ";t="...)
		b = strconv.AppendInt(b, max(0, w.Reset-now), 10)
	}
	overage := len(b)
	if l.Overage > 0 {
		b = strconv.AppendInt(b, l.Overage, 10)
	}
	text := string(b)
	h.set("X-RateLimit-Limit", text[:remaining])
	h.set("X-RateLimit-Remaining", text[remaining:reset])
	h.set("X-RateLimit-Reset", text[reset:policy])
	h.set("RateLimit-Policy", text[policy:status])
	h.set("RateLimit", text[status:overage])
	if l.Overage > 0 {
		h.set("X-Quota-Overage", text[overage:])
	}
}

// appendItem appends the name of item i of a list, as a string.
func appendItem(b []byte, i int, name limits.WindowName) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return append(append(append(b, '"'), name...), '"')
}
