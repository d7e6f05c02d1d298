package client

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// What holds without options.
const (
	defaultTimeout    = 30 * time.Second
	defaultMaxRetries = 3
	defaultMaxWait    = 90 * time.Second
)

// Option changes how a [Client] works.
type Option func(*Client) error

// WithHTTPClient sends through h, whose Timeout then bounds each try. The default is a client of its own over
// http.DefaultTransport, with 30 s. h itself is not changed; where its CheckRedirect is stricter than the client's own
// rule, it holds.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) error {
		if h == nil {
			return errors.New("petstore: the HTTP client must not be nil")
		}
		c.http = h
		return nil
	}
}

// WithUserAgent puts the name of the calling program, like "acme-sync/2.1", before the client's own in User-Agent. It helps
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

// WithMaxRetries sets how often a call is tried again, 3 by default. With 0 every error is returned at once and no call
// waits.
func WithMaxRetries(n int) Option {
	return func(c *Client) error {
		if n < 0 {
			return errors.New("petstore: the number of retries must not be negative")
		}
		c.maxRetries = n
		return nil
	}
}

// WithMaxWait sets the longest Retry-After that is waited for, 90 s by default: longer than a minute's limit lasts, shorter
// than a ban or the rest of a day. An answer that asks for more is returned at once.
func WithMaxWait(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return errors.New("petstore: the longest wait must be positive")
		}
		c.maxWait = d
		return nil
	}
}
