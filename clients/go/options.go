package client

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// The defaults of the options.
const (
	attemptTimeout    = 30 * time.Second
	defaultTimeout    = 10 * time.Minute
	defaultMaxRetries = 3
	defaultMaxWait    = 90 * time.Second
)

// Option configures a [Client].
type Option func(*Client) error

// WithHTTPClient sends requests through h, whose Timeout limits each attempt. The default uses
// http.DefaultTransport with a timeout of 30 s. h is not modified, and its CheckRedirect is not
// used: no redirect is followed.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) error {
		if h == nil {
			return errors.New("petstore: the HTTP client must not be nil")
		}
		c.http = h
		return nil
	}
}

// WithUserAgent adds the name of your program, such as "acme-sync/2.1", to User-Agent. It helps our
// support to find your requests.
func WithUserAgent(product string) Option {
	return func(c *Client) error {
		if product == "" || strings.ContainsFunc(product, func(r rune) bool { return r < ' ' || r > '~' }) {
			return errors.New("petstore: the user agent must be printable ASCII characters")
		}
		c.userAgent = product + " " + runtimeAgent
		return nil
	}
}

// WithMaxRetries sets how many times a call is retried, 3 by default. Waiting for its turn or for a
// limit to reset is not a retry. With 0 every error is returned at once and no call waits.
func WithMaxRetries(n int) Option {
	return func(c *Client) error {
		if n < 0 {
			return errors.New("petstore: the number of retries must not be negative")
		}
		c.maxRetries = n
		return nil
	}
}

// WithMaxWait sets the longest Retry-After, or time until a reset, that a call waits for. If it is
// longer, the call fails at once, and the error has that time. The default is 90 s: longer than a
// per-minute limit lasts, shorter than a ban or the rest of a day.
func WithMaxWait(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return errors.New("petstore: the longest wait must be positive")
		}
		c.maxWait = d
		return nil
	}
}

// WithTimeout limits a call with all its requests and waits. A call that would have to wait longer
// fails at once. The default is 10 minutes.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return errors.New("petstore: the timeout must be positive")
		}
		c.timeout = d
		return nil
	}
}

// WithWarnings calls warn, once for each header and value, when the API warns: the key expires
// soon, the operation is deprecated, parameters were ignored. The default logs with [log/slog].
func WithWarnings(warn func(Warning)) Option {
	return func(c *Client) error {
		if warn == nil {
			return errors.New("petstore: the function for warnings must not be nil")
		}
		c.warnings = &warnings{warn: warn}
		return nil
	}
}
