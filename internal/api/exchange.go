package api

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
)

// exchange is one request and its response, with all that is known about them. It ends with the
// request.
type exchange struct {
	*gin.Context
	route   *route
	metrics *routeMetrics
	// proxied is true if there are trusted proxies.
	proxied bool
	id      string
	// span is nil before the request is admitted, and if nothing is traced. traceID is the ID of an
	// exported trace; it is set at the end.
	span    trace.Span
	traceID string
	// asked is what the gate must know about the request, and outcome its result.
	asked gate.Request
	gate.Outcome
	// limits are what the response says about the limits. They are set with its headers.
	limits gate.Limits

	// bodyRead is true if all that is needed of the body was read.
	bodyRead bool
	// body is the request's part of the budget for bodies.
	body bodyShare
	// lingers is true if the connection closes while the client may still send the body.
	lingers bool

	// unknownParams is the error for unknown query parameters under strict handling, nil for none.
	unknownParams *problem.Error

	// failed is the error of the response, nil if there is none.
	failed *problem.Error

	headers headers
}

// set sets a header of the response in exactly that spelling.
func (x *exchange) set(name, value string) { x.headers.set(name, value) }

// isRead reports whether the method is GET or HEAD.
func (x *exchange) isRead() bool {
	return x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead
}

// owner returns the owner of the request's key, for the log and for support, even if the key is no
// longer valid. It is nil if there is no such key.
func (x *exchange) owner() *keys.Caller {
	if x.Caller == nil {
		return x.KeyOf
	}
	return x.Caller
}

// plan returns the name of the caller's plan, or "none".
func (x *exchange) plan() string {
	if x.Caller == nil {
		return "none"
	}
	return x.Caller.Tenant.Plan
}

// gaveUp reports whether the request failed because its client disconnected. It is false for a
// failure of the server, even if the client is gone.
func (x *exchange) gaveUp() bool {
	return x.failed != nil && errors.Is(x.failed, context.Canceled) &&
		ClientGone(x.Request.Context())
}

// needs is the scope that a key must have for the request.
func (x *exchange) needs() keys.Scope {
	if x.route.selfScope != "" && x.Param("keyId") == self {
		return x.route.selfScope
	}
	return x.route.scope
}

// self stands for the request's own key in a path.
const self = "self"

// statusGone is the status, in the log and the metrics, of a request whose client disconnected.
// nginx uses the same number.
const statusGone = 499

// exchanges are reused, because each takes about 1 kB.
var exchanges sync.Pool

func takeExchange() *exchange {
	if x, ok := exchanges.Get().(*exchange); ok {
		return x
	}
	return &exchange{}
}

// Authenticated implements gate.Sender.
func (x *exchange) Authenticated(tenantID int64) { setAuthenticated(x.Request.Context(), tenantID) }
