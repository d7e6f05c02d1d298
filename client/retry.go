package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"time"
)

// The waits where no Retry-After says how long.
const (
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second
)

// delay returns how long to wait before the next try after err; the first try is number 0. It says no when another would be
// useless, harmful, or too late.
func (c *Client) delay(cl *call, try int, err error) (wait time.Duration, again bool) {
	if try >= c.maxRetries {
		return 0, false
	}
	var e *Error
	if !errors.As(err, &e) {
		return c.backoff(try), cl.repeatable() && isPassing(err)
	}
	switch {
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable, e.Code == CodeIdempotencyInProgress:
	case e.Status == http.StatusBadGateway, e.Status == http.StatusGatewayTimeout:
		if !cl.repeatable() {
			return 0, false
		}
	default:
		return 0, false
	}
	if e.RetryAfter == 0 {
		return c.backoff(try), true
	}
	return c.jittered(e.RetryAfter), e.RetryAfter <= c.maxWait
}

// isPassing tells whether no whole answer came, for a reason that may be gone the next time.
func isPassing(err error) bool {
	var lost *lostError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &lost) && !errors.As(err, &untrusted)
}

// backoff is exponential with full jitter: anything from nothing to 1 s, 2 s, 4 s … 60 s.
func (c *Client) backoff(try int) time.Duration {
	most := maxBackoff
	if try < 6 {
		most = firstBackoff << try
	}
	return time.Duration(c.random() * float64(min(most, maxBackoff, c.maxWait)))
}

// jittered adds up to a tenth, never less than nothing: a request before the wait is over is refused.
func (c *Client) jittered(wait time.Duration) time.Duration {
	return wait + time.Duration(c.random()*float64(wait)/10)
}

// hold remembers that the key's limit is used up, for all calls of a client.
type hold struct {
	mu    sync.Mutex
	err   Error
	until time.Time
}

// note takes notice of a 429 that says when it ends.
func (h *hold) note(e *Error, now time.Time) {
	if e.Status != http.StatusTooManyRequests || e.RetryAfter == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := now.Add(e.RetryAfter); until.After(h.until) {
		h.err, h.until = *e, until
	}
}

// refusal is what the service would answer now, nil when that isn't known.
func (h *hold) refusal(method, path string, now time.Time) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !now.Before(h.until) {
		return nil
	}
	e := h.err
	e.Method, e.Path, e.RetryAfter = method, path, h.until.Sub(now)
	return &e
}
