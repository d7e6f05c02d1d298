package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

const (
	// The backoff without Retry-After.
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second

	maxJitter = 2 * time.Second
)

// delay returns how long to wait after err before the next attempt, and whether that uses up one of
// the retries. tries is how many are used up. retry is false if another attempt would be useless,
// harmful or too late.
func (c *Client) delay(cl *call, tries int, err error) (wait time.Duration, costs, retry bool) {
	if c.maxRetries == 0 {
		return 0, true, false
	}
	left := tries < c.maxRetries
	var e *Error
	if !errors.As(err, &e) {
		return c.backoff(tries), true, left && cl.isRepeatable() && isTransient(err)
	}
	limited := e.Status == http.StatusTooManyRequests
	switch {
	case e.isUnknown():
		retry = cl.isRepeatable()
	default:
		retry = limited || e.Status == http.StatusServiceUnavailable || e.Code == CodeIdempotencyInProgress
	}
	switch {
	case !retry || e.RetryAfter > c.maxWait:
		return 0, true, false
	case e.RetryAfter == 0:
		return c.backoff(tries), true, left
	case limited && !cl.unmetered:
		return 0, false, true // The queue does the waiting.
	}
	return e.RetryAfter + jitter(e.RetryAfter, c.random()), !limited, limited || left
}

// isUnknown reports whether the request may or may not have taken effect: the service says so, or
// the response is a proxy's, which has no request ID.
func (e *Error) isUnknown() bool {
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return e.Code == CodeOutcomeUnknown || e.RequestID == ""
	}
	return false
}

// mayHaveActed reports whether the request of a failed call may have taken effect.
func mayHaveActed(err error) bool {
	var lost *noResponseError
	var e *Error
	return errors.As(err, &lost) || errors.As(err, &e) && e.isUnknown()
}

// isTransient reports whether there was no complete response, for a reason that may not recur.
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

// jitter returns the random part of a wait: up to a tenth of it, and at most maxJitter.
func jitter(wait time.Duration, random float64) time.Duration {
	return time.Duration(random * float64(min(wait/10, maxJitter)))
}
