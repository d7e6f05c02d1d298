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

// Rate is the state of the limit (per minute, day or month, or the key's own) with the fewest
// requests remaining.
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
	// Overage is how many requests of the month are above those that the price includes.
	Overage int64
	// Replayed reports that the response repeats the one to an earlier request with the same
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
		Overage:   integer(a.header.Get("X-Quota-Overage")),
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
// not say. It may be up to a second too long. If the service sends Date, both times are the
// service's, so that this machine's clock does not matter.
func untilReset(h http.Header, now time.Time) time.Duration {
	return rateOf(h).Reset.Sub(serviceTime(h, now))
}

// serviceTime returns the Date of a response, or now if it has none.
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

// minRetryAfter keeps a client from repeating a refused request at once.
const minRetryAfter = time.Second

// retryAfter reads Retry-After in its two forms, whole seconds and a date (RFC 9110, section
// 10.2.3). It returns 0 if the header is missing or malformed, otherwise at least minRetryAfter.
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

// nextCursor returns the cursor of the next page, empty after the last. It uses only the cursor of
// the Link, so that the key is never sent to the address there.
func nextCursor(h http.Header) string {
	if cursor := h.Get("X-Next-Cursor"); cursor != "" {
		return cursor
	}
	if u := linkTo(h, "next"); u != nil {
		return u.Query().Get("cursor")
	}
	return ""
}

// docURL returns the address of the documentation of an error, which may be relative in the
// response, and "" if there is none.
func docURL(base *url.URL, h http.Header) string {
	if u := linkTo(h, "help"); u != nil {
		return base.ResolveReference(u).String()
	}
	return ""
}

// linkTo returns the first link with a relation, nil if there is none.
func linkTo(h http.Header, relation string) *url.URL {
	for _, m := range link.FindAllStringSubmatch(strings.Join(h.Values("Link"), ", "), -1) {
		if !isRelation(m[2], relation) {
			continue
		}
		if u, err := url.Parse(m[1]); err == nil {
			return u
		}
	}
	return nil
}

// isRelation reports whether the parameters of a link include the relation.
func isRelation(parameters, relation string) bool {
	for _, m := range parameter.FindAllStringSubmatch(parameters, -1) {
		if strings.EqualFold(m[1], "rel") {
			return slices.Contains(strings.Fields(strings.Trim(m[2], `"`)), relation)
		}
	}
	return false
}

// link matches a link-value of RFC 8288, a reference and its parameters. parameter matches one
// parameter.
var (
	link      = regexp.MustCompile(`<([^>]*)>((?:` + parameter.String() + `)*)`)
	parameter = regexp.MustCompile(`\s*;\s*([\w*-]+)(?:\s*=\s*("[^"]*"|[^\s";,]+))?`)
)
