package api

import (
	"net/http"
	"strconv"
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

// write sends the response: the headers that every response has, and the body, if any.
func (x *exchange) write(status int, body []byte) {
	x.leaveBody()
	x.setHeaders(status)
	if body != nil {
		if x.headers.Header["Content-Type"] == nil {
			x.headers.Header["Content-Type"] = applicationJSON
		}
		x.set("Content-Length", strconv.Itoa(len(body)))
	}
	x.Writer.WriteHeader(status)
	if body == nil || x.Request.Method == http.MethodHead {
		x.Writer.WriteHeaderNow()
		return
	}
	// The client may be gone.
	_, _ = x.Writer.Write(body)
}

// setHeaders sets the headers that every response has. Their values are safe: constants, numbers, and a request ID that was checked.
func (x *exchange) setHeaders(status int) {
	h := &x.headers
	h.Header["Access-Control-Allow-Origin"] = anyOrigin
	h.Header["Access-Control-Expose-Headers"] = exposedHeaders
	h.set("X-Request-Id", x.id)
	x.limits.setHeaders(h, x.now.Unix())
	h.Header["Cache-Control"] = noStore
	if (status == http.StatusOK || status == http.StatusNotModified) && x.isRead() {
		h.Header["Cache-Control"] = privateNoCache
	}
}

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
