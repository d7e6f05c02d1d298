package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// exchange is one request and its answer: all that is found out on the way, set up once. It lives as long as the
// request does.
type exchange struct {
	*gin.Context
	route   *route
	metrics *routeMetrics
	// cache is what the connection keeps between requests, nil for nothing.
	cache *connCache
	id    string
	// now is the instant by which everything about the request is decided.
	now time.Time
	// started is for the duration only.
	started time.Time

	// caller is nil for a request without a valid key; refusal then says why.
	caller  *keys.Caller
	refusal *Error

	// decision is the limiter's, and counted is true when it admitted the request and was not given back since.
	decision plans.Decision
	counted  bool
	limits   limitStatus

	// bodyRead is true when the body was read, as far as it is to be.
	bodyRead bool

	// failed is the error that was answered, nil for none.
	failed *Error

	headers headers
}

// set sets a header of the response in exactly that spelling.
func (x *exchange) set(name, value string) { x.headers.set(name, value) }

// isRead reports whether the method is GET or HEAD.
func (x *exchange) isRead() bool {
	return x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead
}

// plan is the caller's, or "none".
func (x *exchange) plan() string {
	if x.caller == nil {
		return "none"
	}
	return x.caller.Tenant.Plan
}

// gaveUp reports whether the request failed because its client broke it off. A failure of ours is one also when nobody
// waits for the answer any more.
func (x *exchange) gaveUp() bool {
	return x.failed != nil && errors.Is(x.failed, context.Canceled) && errors.Is(x.Request.Context().Err(), context.Canceled)
}

// handler answers one operation, or returns why it can't.
type handler func(a *api, x *exchange) error

// route is one operation of the contract.
type route struct {
	method string
	// path is written as the contract writes it. It names the route in the log and in the metrics.
	path   string
	handle handler
	// stability says how far the operation can be relied on to stay as it is; empty for one that is stable.
	stability stability
	// marks is the X-Stability of every answer of an operation that is not stable.
	marks []string
	// deprecated marks an operation that is to be removed, nil for one that stays.
	deprecated *deprecation
	// links is the Link of every answer of a deprecated operation.
	links []string
	// open routes need no key.
	open bool
	// free routes count in no window of the caller's, and no window refuses them.
	free bool
}

// stability is the contract's word for how much an operation may still change (docs/versioning.md).
type stability string

const (
	beta         stability = "beta"
	experimental stability = "experimental"
)

// unmatched is the path by which the log and the metrics know requests that match no route.
const unmatched = "unmatched"
