package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"time"
)

// The backoff without Retry-After.
const (
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second
)

// delay returns how long to wait after err before the next attempt; the first attempt is number 0. retry is false if another
// attempt would be useless, harmful or too late.
func (c *Client) delay(cl *call, attempt int, err error) (wait time.Duration, retry bool) {
	if attempt >= c.maxRetries {
		return 0, false
	}
	var e *Error
	if !errors.As(err, &e) {
		return c.backoff(attempt), cl.repeatable() && isTransient(err)
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
		return c.backoff(attempt), true
	}
	return c.jittered(e.RetryAfter), e.RetryAfter <= c.maxWait
}

// isTransient reports whether there was no complete response, for a reason that may be gone next time.
func isTransient(err error) bool {
	var lost *noResponseError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &lost) && !errors.As(err, &untrusted)
}

// backoff returns a random time of up to 1 s, 2 s, 4 s … 60 s (exponential backoff with full jitter).
func (c *Client) backoff(attempt int) time.Duration {
	most := maxBackoff
	if attempt < 6 {
		most = firstBackoff << attempt
	}
	return time.Duration(c.random() * float64(min(most, maxBackoff, c.maxWait)))
}

// jittered adds a random tenth at most. It never shortens the wait, because an earlier request would be refused.
func (c *Client) jittered(wait time.Duration) time.Duration {
	return wait + time.Duration(c.random()*float64(wait)/10)
}

// cooldown remembers for all calls of a client that the key's limit is used up.
type cooldown struct {
	mu    sync.Mutex
	err   Error
	until time.Time
}

// observe notes a 429 with Retry-After.
func (c *cooldown) observe(e *Error, now time.Time) {
	if e.Status != http.StatusTooManyRequests || e.RetryAfter == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := now.Add(e.RetryAfter); until.After(c.until) {
		c.err, c.until = *e, until
	}
}

// denied returns the error that the service would return now, or nil if it is not known to refuse.
func (c *cooldown) denied(method, path string, now time.Time) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !now.Before(c.until) {
		return nil
	}
	e := c.err
	e.Method, e.Path, e.RetryAfter = method, path, c.until.Sub(now)
	return &e
}
