package client

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// Version is the version of this package.
const Version = "1.0.0"

// Client calls the API with one API key. Use [New] to create one.
type Client struct {
	base *url.URL
	// key is a function, so that printing a client never shows it.
	key       func() string
	http      *http.Client
	userAgent string

	maxRetries int
	maxWait    time.Duration
	// queue is nil without retries: then no call waits.
	queue *queue
	// random returns numbers in [0, 1).
	random func() float64
}

// New returns a client of the API at baseURL, an http or https URL that ends in /v1. Plain http
// exposes the key to the network. Errors never contain the arguments.
func New(baseURL, apiKey string, opts ...Option) (*Client, error) {
	base, err := parseBaseURL(baseURL)
	if err != nil {
		return nil, err
	}
	if !isVisible(apiKey) {
		return nil, errors.New(
			"petstore: the API key must be visible ASCII characters; is there a space or a line break around it?",
		)
	}
	c := &Client{
		base:       base,
		key:        func() string { return apiKey },
		http:       &http.Client{Timeout: defaultTimeout},
		userAgent:  "petstore-go/" + Version,
		maxRetries: defaultMaxRetries,
		maxWait:    defaultMaxWait,
		random:     rand.Float64,
	}
	for _, opt := range opts {
		if err := opt(c); err != nil {
			return nil, err
		}
	}
	if c.maxRetries > 0 {
		c.queue = &queue{maxWait: c.maxWait, random: c.random}
	}
	c.http = sameOrigin(c.http, base)
	return c, nil
}

func parseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	// The parser's error quotes its input, which is the key if the arguments were swapped.
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New(
			"petstore: the base URL must be absolute, http or https, as in https://api.example.com/v1",
		)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("petstore: the base URL must have no user, query or fragment")
	}
	if path.Base(u.Path) != "v1" {
		return nil, errors.New("petstore: the base URL must end in /v1")
	}
	return u, nil
}

// sameOrigin returns a copy of the client that follows a redirect only if it keeps the method and
// the scheme, host and port of base. net/http alone would send the key to other ports, to
// subdomains, and from https to http. Any other redirect is returned as the response.
func sameOrigin(h *http.Client, base *url.URL) *http.Client {
	limited := *h
	limited.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != base.Scheme || req.URL.Host != base.Host || req.Method != via[0].Method ||
			len(via) >= maxRedirects {
			return http.ErrUseLastResponse
		}
		if h.CheckRedirect != nil {
			return h.CheckRedirect(req, via)
		}
		return nil
	}
	return &limited
}

const maxRedirects = 10

// isVisible reports whether s is not empty and has visible ASCII characters only.
func isVisible(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// String returns the address of the API, never the key.
func (c Client) String() string { return "petstore client of " + c.base.String() }

// GoString returns String.
func (c Client) GoString() string { return c.String() }
