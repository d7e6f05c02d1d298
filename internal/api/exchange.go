package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// exchange is one request and its response, with everything that is found out on the way. It lives
// as long as the request.
type exchange struct {
	*gin.Context
	route   *route
	metrics *routeMetrics
	// cache is what the connection keeps between requests, nil for nothing.
	cache *connCache
	id    string
	// span is nil before the request is admitted, and if nothing is traced. traceID is that of the
	// trace if it is exported, set at the end.
	span    trace.Span
	traceID string
	// now is the time by which everything about the request is decided.
	now time.Time
	// started is for measuring the duration only.
	started time.Time

	// caller is nil for a request without a valid key; then refusal is the reason, and keyOf whose
	// the key is, if there is such a key.
	caller  *keys.Caller
	refusal *Error
	keyOf   *keys.Caller
	// addressCounted is true if the request has been counted for its address.
	addressCounted bool

	// decision is the limiter's. counted is true if the request was admitted and not refunded
	// since.
	decision limits.Decision
	counted  bool
	limits   limitStatus
	// keyChange is true if the request counts as a change of keys: it does unless it fails.
	keyChange bool
	// announced is the write that was announced with the decision, nil for none.
	announced limits.Announced

	// simulated is the error that the client asked for: nothing of the request is counted.
	// delaysFull is true if too many wait for theirs.
	simulated  *errorCode
	delaysFull bool

	// bodyRead is true if the body was read, as far as necessary.
	bodyRead bool
	// bodyReserved is how much of the budget for bodies the request has, in bytes.
	bodyReserved int64
	bodyHolder   holder
	// lingers is true if the connection closes while the client may still send the body.
	lingers bool

	// unknownParams is the error of strict handling for a query with unknown parameters, nil for
	// none.
	unknownParams *Error

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

// owner returns who the request is of for the log and for support: also the owner of a key that
// exists and is not valid. It is nil if there is no such key.
func (x *exchange) owner() *keys.Caller {
	if x.caller == nil {
		return x.keyOf
	}
	return x.caller
}

// plan returns the caller's plan, or "none".
func (x *exchange) plan() string {
	if x.caller == nil {
		return "none"
	}
	return x.caller.Tenant.Plan
}

// gaveUp reports whether the request failed because its client disconnected. A failure of the
// server counts as one even if the client is gone.
func (x *exchange) gaveUp() bool {
	return x.failed != nil && errors.Is(x.failed, context.Canceled) &&
		errors.Is(x.Request.Context().Err(), context.Canceled)
}

// needs is the scope that a key must have for the request.
func (x *exchange) needs() keys.Scope {
	if x.route.selfScope != "" && x.Param("keyId") == self {
		return x.route.selfScope
	}
	return x.route.scope
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
	// links is the Link of every response of a deprecated operation, and help that of an error, by
	// the number of its code.
	links []string
	help  [][]string
	// onlyTLS is the Strict-Transport-Security of responses that a browser may show, nil for none.
	onlyTLS []string
	// ignoresQuery is true for an operation without query parameters. One that has some looks for
	// unknown ones itself.
	ignoresQuery bool
	// scope is what a key must have. Public routes and those of pages need none.
	scope keys.Scope
	// selfScope is the scope for the key of the request itself, "" if it is no other.
	selfScope keys.Scope
	// public routes need no key.
	public bool
	// sameOrigin routes are not for pages of other origins.
	sameOrigin bool
	// unmetered routes count in no window of the caller, and no window refuses them.
	unmetered bool
	// counts, if not nil, tells which queries of an unmetered route count nevertheless.
	counts func(rawQuery string) bool
	// changesKeys is true if the operation changes the tenant's keys, for which there is a limit. A
	// revocation waits for none.
	changesKeys bool
	// writes is true if the operation writes to the tenant's catalogue, unless it fails.
	writes bool
}

// stability says how much an operation may still change (docs/versioning.md).
type stability string

const (
	beta         stability = "beta"
	experimental stability = "experimental"
)

// unmatched is the path of requests that match no route, in the log and in the metrics.
const unmatched = "unmatched"
