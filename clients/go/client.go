package client

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

// Version is the version of this package.
const Version = "1.0.0"

var runtimeAgent = "petstore-go/" + Version + " (" + runtime.Version() + ")"

// Client calls the API with one API key. Use [New] to create one.
type Client struct {
	base *url.URL
	// keys are functions, so that printing a client never shows a key.
	keys      keyring
	http      *http.Client
	userAgent string

	maxRetries       int
	maxWait, timeout time.Duration
	warnings         *warnings
	// queue is nil without retries; then no call waits.
	queue *queue
	// random returns numbers in [0, 1).
	random func() float64
}

// FromEnv returns a client with the base URL in PETSTORE_URL and the key in PETSTORE_API_KEY.
func FromEnv(opts ...Option) (*Client, error) {
	return New(os.Getenv("PETSTORE_URL"), os.Getenv("PETSTORE_API_KEY"), opts...)
}

// New returns a client of the API at baseURL, an https URL that ends in /v1. Only on this machine
// it may be http. Errors never contain the arguments.
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
		keys:       newKeyring(apiKey),
		http:       &http.Client{Timeout: attemptTimeout},
		userAgent:  runtimeAgent,
		maxRetries: defaultMaxRetries,
		maxWait:    defaultMaxWait,
		timeout:    defaultTimeout,
		warnings:   &warnings{warn: logWarning},
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
	limited := *c.http
	limited.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &limited
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
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, errors.New("petstore: the base URL must be https: http shows the key to the network")
	}
	return u, nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// isVisible reports whether s is not empty and has visible ASCII characters only.
func isVisible(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// String returns the address of the API, never the key.
func (c Client) String() string { return "petstore client of " + c.base.String() }

// GoString returns String.
func (c Client) GoString() string { return c.String() }
