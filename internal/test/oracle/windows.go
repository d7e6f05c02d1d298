package oracle

import (
	"net/http"
	"time"
)

// Codes of responses, from docs/errors.md.
const (
	dailyCode   = "daily_quota_exceeded"
	monthlyCode = "monthly_quota_exceeded"
	bannedCode  = "key_banned"
	unknownCode = "outcome_unknown"
)

// window is one kind of window of a tenant, or of one of its keys.
type window struct {
	what  string
	key   string // "" for all keys
	limit int64
	// code is that of a refusal, "" for any but the day's and the month's.
	code string
	// every is the length of such a window, edge an instant at which one begins. A window without a
	// length is a UTC calendar month.
	every time.Duration
	edge  time.Time
}

// number returns the number of the window at an instant.
func (w window) number(at time.Time) int64 {
	if w.every == 0 {
		at = at.UTC()
		return int64(at.Year()*12 + int(at.Month()) - 1)
	}
	since := at.Sub(w.edge)
	n := int64(since / w.every)
	if since < 0 && since%w.every != 0 {
		n--
	}
	return n
}

func (w window) begin(number int64) time.Time {
	if w.every == 0 {
		return time.Date(0, time.January+time.Month(number), 1, 0, 0, 0, 0, time.UTC)
	}
	return w.edge.Add(time.Duration(number) * w.every)
}

// span returns the first and the last window in which a request may have been decided. If the
// response's headers name a window between these, both are that window.
func (w window) span(q Request, clockError time.Duration) span {
	first, last := w.number(q.Start.Add(-clockError)), w.number(q.End.Add(clockError))
	if q.Limit == w.limit && q.Reset > 0 {
		if said := w.number(time.Unix(q.Reset, 0)) - 1; said >= first && said <= last {
			return span{said, said}
		}
	}
	return span{first, last}
}

// windows returns the kinds of windows of the tenant. Only the responses show at which second a
// minute begins.
func (j *judge) windows() (all []window) {
	day := window{what: "day", limit: j.tenant.PerDay, code: dailyCode, every: 24 * time.Hour, edge: time.Unix(0, 0)}
	all = append(all, day)
	if limit := j.tenant.PerMonth; limit > 0 {
		all = append(all, window{what: "month", limit: limit, code: monthlyCode})
	}
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

// holds reports whether an admitted request counts in windows of this kind.
func (w window) holds(q Request) bool { return q.Used == nil && (w.key == "" || w.key == q.Key) }

// longCode returns the code of a refusal by the day or the month, "" for any other.
func (q Request) longCode() string {
	if q.Code == dailyCode || q.Code == monthlyCode {
		return q.Code
	}
	return ""
}

// span is the first and the last window in which a request may have been decided.
type span struct{ first, last int64 }

// checkWindows checks that all admitted requests can be assigned to windows in which they may have
// been decided, with no window over its limit. By Hall's theorem that is possible unless some run
// of consecutive windows has more requests that fit only into these windows than their limits
// allow.
func (j *judge) checkWindows() {
	for _, w := range j.windows() {
		spans := make([]span, len(j.requests))
		for i, q := range j.requests {
			spans[i] = w.span(q, j.ClockError)
		}
		j.checkFull(w, spans)
		for i, q := range j.requests {
			if q.Status == http.StatusTooManyRequests && w.code == q.longCode() && w.key == "" &&
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

// checkRefusal checks that the window that refused a request, or its key's window, may have been
// full: of requests sent before the refusal was answered.
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

// checkBill checks the bill at the end. It must include every admitted request, may include one
// whose response was lost, and no other.
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
