package client

import (
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rawResponse is a response with its whole body.
type rawResponse struct {
	status int
	header http.Header
	body   []byte
}

// Rate is the state of the limit (per minute, per day or the key's own) with the fewest requests
// remaining.
type Rate struct {
	// Limit is the number of requests allowed in the window.
	Limit int64
	// Remaining is the number of requests that remain.
	Remaining int64
	// Reset is when the window ends, or zero if the response does not say.
	Reset time.Time
}

// Response is a response without its body. See [CaptureResponse].
type Response struct {
	Status    int
	Header    http.Header
	RequestID string
	// ETag identifies the content, for [IfMatch]. It is empty if the response has none.
	ETag string
	Rate Rate
	// Replayed reports that the response is that of an earlier request with the same
	// Idempotency-Key.
	Replayed bool
}

func (a *rawResponse) response() Response {
	return Response{
		Status:    a.status,
		Header:    a.header,
		RequestID: a.header.Get("X-Request-Id"),
		ETag:      a.header.Get("ETag"),
		Rate:      rateOf(a.header),
		Replayed:  a.header.Get("Idempotent-Replayed") == "true",
	}
}

func rateOf(h http.Header) (r Rate) {
	r.Limit = integer(h.Get("X-RateLimit-Limit"))
	r.Remaining = integer(h.Get("X-RateLimit-Remaining"))
	if reset := integer(h.Get("X-RateLimit-Reset")); reset > 0 {
		r.Reset = time.Unix(reset, 0)
	}
	return r
}

// untilReset returns how long the window of rateOf lasts, and a negative time if the response does
// not say. Both times are the service's if it sends Date, so that the clock of this machine does
// not matter. It is up to a second longer than exact.
func untilReset(h http.Header, now time.Time) time.Duration {
	return rateOf(h).Reset.Sub(serviceTime(h, now))
}

// serviceTime returns the Date of a response, and now if there is none.
func serviceTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// integer returns 0 for anything that is not an integer.
func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// maxRetryAfter keeps sums with a Retry-After from overflowing.
const maxRetryAfter = math.MaxInt64 / 2

// minRetryAfter keeps a client from repeating a request at once that was refused for now.
const minRetryAfter = time.Second

// retryAfter reads Retry-After in its two forms, whole seconds and a date (RFC 9110, section
// 10.2.3). It returns 0 if the header is missing or malformed, and else at least minRetryAfter.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.Join(h.Values("Retry-After"), ", ")
	if s != "" && strings.Trim(s, "0123456789") == "" {
		seconds, err := strconv.ParseInt(s, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return max(minRetryAfter, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return min(max(minRetryAfter, at.Sub(serviceTime(h, now))), maxRetryAfter)
}

// nextCursor returns the cursor of the next page, empty after the last. It takes only the cursor of
// a Link, so that the key is never sent to the address in it.
func nextCursor(h http.Header) string {
	if cursor := h.Get("X-Next-Cursor"); cursor != "" {
		return cursor
	}
	for _, m := range link.FindAllStringSubmatch(strings.Join(h.Values("Link"), ", "), -1) {
		if !isNext(m[2]) {
			continue
		}
		if u, err := url.Parse(m[1]); err == nil {
			return u.Query().Get("cursor")
		}
	}
	return ""
}

// isNext reports whether the parameters of a link include the relation next.
func isNext(parameters string) bool {
	for _, m := range parameter.FindAllStringSubmatch(parameters, -1) {
		if strings.EqualFold(m[1], "rel") {
			return slices.Contains(strings.Fields(strings.Trim(m[2], `"`)), "next")
		}
	}
	return false
}

// link matches a link-value of RFC 8288, a reference and its parameters; parameter matches one of
// these.
var (
	link      = regexp.MustCompile(`<([^>]*)>((?:` + parameter.String() + `)*)`)
	parameter = regexp.MustCompile(`\s*;\s*([\w*-]+)(?:\s*=\s*("[^"]*"|[^\s";,]+))?`)
)
