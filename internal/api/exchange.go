package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// exchange is one request and its response, with everything that is found out on the way. It lives as long as the request.
type exchange struct {
	*gin.Context
	route   *route
	metrics *routeMetrics
	// cache is what the connection keeps between requests, nil for nothing.
	cache *connCache
	id    string
	// now is the time by which everything about the request is decided.
	now time.Time
	// started is for measuring the duration only.
	started time.Time

	// caller is nil for a request without a valid key; then refusal is the reason.
	caller  *keys.Caller
	refusal *Error
	// addressCounted is true if the request has been counted for its address.
	addressCounted bool

	// decision is the limiter's. counted is true if the request was admitted and not refunded since.
	decision limits.Decision
	counted  bool
	limits   limitStatus

	// bodyRead is true if the body was read, as far as necessary.
	bodyRead bool
	// bodyReserved is how much of the budget for bodies the request has, in bytes.
	bodyReserved int64

	// failed is the error of the response, nil if there is none.
	failed *Error

	headers headers
}

// set sets a header of the response in exactly that spelling.
func (x *exchange) set(name, value string) { x.headers.set(name, value) }

// isRead reports whether the method is GET or HEAD.
func (x *exchange) isRead() bool {
	return x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead
}

// plan returns the caller's plan, or "none".
func (x *exchange) plan() string {
	if x.caller == nil {
		return "none"
	}
	return x.caller.Tenant.Plan
}

// gaveUp reports whether the request failed because its client disconnected. A failure of the server counts as one even if the
// client is gone.
func (x *exchange) gaveUp() bool {
	return x.failed != nil && errors.Is(x.failed, context.Canceled) && errors.Is(x.Request.Context().Err(), context.Canceled)
}

// handler responds to one operation, or returns an error.
type handler func(a *api, x *exchange) error

// route is one operation of the contract.
type route struct {
	method string
	// path is the path in the contract. It identifies the route in the log and in the metrics.
	path   string
	handle handler
	// stability is empty for a stable operation.
	stability stability
	// stabilityHeader is the X-Stability of every response of an operation that is not stable.
	stabilityHeader []string
	// deprecated is set for an operation that will be removed.
	deprecated *deprecation
	// links is the Link of every response of a deprecated operation.
	links []string
	// public routes need no key.
	public bool
	// unmetered routes count in no window of the caller, and no window refuses them.
	unmetered bool
}

// stability says how much an operation may still change (docs/versioning.md).
type stability string

const (
	beta         stability = "beta"
	experimental stability = "experimental"
)

// unmatched is the path of requests that match no route, in the log and in the metrics.
const unmatched = "unmatched"
