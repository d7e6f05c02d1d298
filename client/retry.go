package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

// The backoff without Retry-After.
const (
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second
)

// delay returns how long to wait after err before the next attempt; the first attempt is number 0.
// retry is false if another attempt would be useless, harmful or too late.
func (c *Client) delay(cl *call, attempt int, err error) (wait time.Duration, retry bool) {
	if attempt >= c.maxRetries {
		return 0, false
	}
	var e *Error
	if !errors.As(err, &e) {
		return c.backoff(attempt), cl.repeatable() && isTransient(err)
	}
	switch {
	case e.isUnknown() && !cl.repeatable():
		return 0, false
	case e.Status == http.StatusTooManyRequests,
		e.Status == http.StatusServiceUnavailable,
		e.Code == CodeIdempotencyInProgress:
	case e.Status == http.StatusBadGateway, e.Status == http.StatusGatewayTimeout:
	default:
		return 0, false
	}
	if e.RetryAfter == 0 {
		return c.backoff(attempt), true
	}
	if e.Status == http.StatusTooManyRequests && !cl.unmetered {
		return 0, e.RetryAfter <= c.maxWait // The queue waits.
	}
	return e.RetryAfter + jitter(e.RetryAfter, 1, c.random()), e.RetryAfter <= c.maxWait
}

// isUnknown reports whether the response leaves open if the request took effect: the service says
// so, or did not make it. A proxy that got no answer also says 503, without a request ID.
func (e *Error) isUnknown() bool {
	return e.Code == CodeOutcomeUnknown || e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout ||
		e.Status == http.StatusServiceUnavailable && e.RequestID == ""
}

// isTransient reports whether there was no complete response, for a reason that may be gone next
// time.
func isTransient(err error) bool {
	var lost *noResponseError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &lost) && !errors.As(err, &untrusted)
}

// backoff returns a random time of up to 1 s, 2 s, 4 s … 60 s (exponential backoff with full
// jitter).
func (c *Client) backoff(attempt int) time.Duration {
	most := maxBackoff
	if attempt < 6 {
		most = firstBackoff << attempt
	}
	return time.Duration(c.random() * float64(min(most, maxBackoff, c.maxWait)))
}

// jitter returns a random part of a wait: up to a tenth of it, doubled for each further 429 in a
// row, and at most as long as the wait.
func jitter(wait time.Duration, refusals int, random float64) time.Duration {
	tenths := min(10, 1<<min(4, max(0, refusals-1)))
	return time.Duration(random * float64(wait) / 10 * float64(tenths))
}
