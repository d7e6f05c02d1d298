package client

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// Defaults.
const (
	defaultTimeout    = 30 * time.Second
	defaultMaxRetries = 3
	defaultMaxWait    = 90 * time.Second
)

// Option configures a [Client].
type Option func(*Client) error

// WithHTTPClient sends requests through h, whose Timeout limits each attempt. The default uses
// http.DefaultTransport with a timeout of 30 s. h is not modified. Its CheckRedirect applies in
// addition to the client's own rule.
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
		c.userAgent = product + " petstore-go/" + Version
		return nil
	}
}

// WithMaxRetries sets how many times a call is retried, 3 by default. Waiting for its turn is no
// retry. With 0 every error is returned at once and no call waits.
func WithMaxRetries(n int) Option {
	return func(c *Client) error {
		if n < 0 {
			return errors.New("petstore: the number of retries must not be negative")
		}
		c.maxRetries = n
		return nil
	}
}

// WithMaxWait sets the longest Retry-After, or time until a reset, that a call waits for, 90 s by
// default: longer than a per-minute limit lasts, shorter than a ban or the rest of a day. If it
// takes longer, the call fails at once.
func WithMaxWait(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return errors.New("petstore: the longest wait must be positive")
		}
		c.maxWait = d
		return nil
	}
}
