package oracle

import (
	"net/http"
	"time"
)

// Codes of responses, from docs/errors.md.
const (
	dailyCode   = "daily_quota_exceeded"
	bannedCode  = "key_banned"
	unknownCode = "outcome_unknown"
)

// window is one kind of window of a tenant, or of one of its keys.
type window struct {
	what  string
	key   string // "" for all keys
	limit int64
	// every is its length, edge the instant at which one of them begins.
	every time.Duration
	edge  time.Time
}

// number returns which window it is at an instant.
func (w window) number(at time.Time) int64 {
	since := at.Sub(w.edge)
	n := int64(since / w.every)
	if since < 0 && since%w.every != 0 {
		n--
	}
	return n
}

func (w window) begin(number int64) time.Time { return w.edge.Add(time.Duration(number) * w.every) }

// span returns the first and the last window in which a request may have been decided. If its
// headers name a window of this kind, that is the one, provided that it is among them.
func (w window) span(q Request, clockError time.Duration) span {
	first, last := w.number(q.Start.Add(-clockError)), w.number(q.End.Add(clockError))
	if q.Limit == w.limit && q.Reset > 0 {
		if said := w.number(time.Unix(q.Reset, 0)) - 1; said >= first && said <= last {
			return span{said, said}
		}
	}
	return span{first, last}
}

// windows returns the tenant's windows. A minute begins at a second that only the responses tell.
func (j *judge) windows() (all []window) {
	all = append(all, window{what: "day", limit: j.tenant.PerDay, every: 24 * time.Hour, edge: time.Unix(0, 0)})
	var edge time.Time
	for _, q := range j.requests {
		if q.Limit != j.tenant.PerMinute || q.Reset == 0 {
			continue
		}
		reset := time.Unix(q.Reset, 0)
		switch {
		case edge.IsZero():
			edge = reset
		case reset.Sub(edge)%time.Minute != 0:
			j.broken(Windows, q.Start, q.End, "minutes end at %v and at %v", edge, reset)
		}
	}
	if edge.IsZero() {
		return all
	}
	all = append(all, window{what: "minute", limit: j.tenant.PerMinute, every: time.Minute, edge: edge})
	for key, limit := range j.tenant.Keys {
		all = append(all, window{what: "minute of key " + key, key: key, limit: limit, every: time.Minute, edge: edge})
	}
	return all
}

// holds reports whether a request that is admitted counts in windows of this kind.
func (w window) holds(q Request) bool { return q.Used == nil && (w.key == "" || w.key == q.Key) }

// span is the first and the last window in which a request may have been decided.
type span struct{ first, last int64 }

// checkWindows checks that there is a way to count each admitted request in a window in which it
// may have been decided, so that none is over its limit. By Hall's theorem there is one unless some
// row of windows holds more of those that fit in no other.
func (j *judge) checkWindows() {
	for _, w := range j.windows() {
		spans := make([]span, len(j.requests))
		for i, q := range j.requests {
			spans[i] = w.span(q, j.ClockError)
		}
		j.checkFull(w, spans)
		for i, q := range j.requests {
			if q.Status == http.StatusTooManyRequests && (w.what == "day") == (q.Code == dailyCode) && w.key == "" &&
				q.Code != bannedCode {
				j.checkRefusal(w, spans, i)
			}
		}
	}
}

func (j *judge) checkFull(w window, spans []span) {
	counts, starts, ends := map[span]int64{}, map[int64]bool{}, map[int64]bool{}
	for i, q := range j.requests {
		if s := spans[i]; w.holds(q) && q.admitted() {
			counts[s]++
			starts[s.first], ends[s.last] = true, true
		}
	}
	j.report.Windows += len(starts)
	for first := range starts {
		for last := range ends {
			var n int64
			for s, count := range counts {
				if s.first >= first && s.last <= last {
					n += count
				}
			}
			if most := w.limit * (last - first + 1); last >= first && n > most {
				j.broken(
					Windows,
					w.begin(first),
					w.begin(last+1),
					"%d admitted in a %s, over the limit of %d",
					n,
					w.what,
					most,
				)
			}
		}
	}
}

// checkRefusal checks that the window that refused a request, or that of its key, may have been
// full of requests that were sent before the refusal was answered.
func (j *judge) checkRefusal(w window, spans []span, refused int) {
	j.report.Refusals++
	q := j.requests[refused]
	for n := spans[refused].first; n <= spans[refused].last; n++ {
		var of, ofKey int64
		for i, other := range j.requests {
			if other.Start.After(q.End) {
				break
			}
			if s := spans[i]; s.first > n || s.last < n || other.Used != nil ||
				other.Status == http.StatusTooManyRequests ||
				other.Status == http.StatusUnauthorized {
				continue
			}
			of++
			if other.Key == q.Key {
				ofKey++
			}
		}
		if limit := j.tenant.Keys[q.Key]; of >= w.limit || w.what == "minute" && limit > 0 && ofKey >= limit {
			return
		}
	}
	j.broken(
		Refusals,
		w.begin(spans[refused].first),
		q.End,
		"server %d refused with %s what the limit of %d allows",
		q.Server,
		q.Code,
		w.limit,
	)
}

// checkBill checks the bill at the end: every request that was admitted may be on it, and one whose
// response was lost, but no other.
func (j *judge) checkBill() {
	var may int64
	for _, q := range j.requests {
		switch {
		case q.Used != nil && q.Status == http.StatusOK:
			j.report.Bills++
			if *q.Used > may {
				j.broken(
					Bills,
					q.Start,
					q.End,
					"%d requests are billed, but only %d were admitted or got no response",
					*q.Used,
					may,
				)
			}
		case q.admitted(), q.Status == 0 && q.Used == nil:
			may++
		}
	}
}
