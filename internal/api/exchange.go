package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/httpfast"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// exchange is one request and its answer: all that is found out on the way, set up once. It lives as long as the
// request does.
type exchange struct {
	*gin.Context
	route   *route
	metrics *routeMetrics
	// conn is the client's connection, nil where the server has none to leave a head with.
	conn *httpfast.Conn
	// kept is what the connection remembers, nil for nothing.
	kept *kept
	id   string
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
	limits   allowance

	// bodyRead is true when the body was read, as far as it is to be.
	bodyRead bool

	// failed is the error that was answered, nil for none.
	failed *Error

	// lines are header lines of the answer that are written out already; room is for those that are written here.
	lines []byte
	room  [192]byte

	// values holds the answer's headers, so that each does not need a slice of its own.
	values [16]string
	used   int
}

// set sets a header in exactly that spelling.
func (x *exchange) set(name, value string) {
	if x.used == len(x.values) {
		x.Writer.Header()[name] = []string{value}
		return
	}
	x.values[x.used] = value
	x.used++
	x.Writer.Header()[name] = x.values[x.used-1 : x.used : x.used]
}

// Header values that never change.
var (
	applicationJSON = []string{"application/json"}
)

// write sends the answer: the headers that every answer has, and the body, if any.
func (x *exchange) write(status int, body []byte) {
	if body == nil {
		x.send(status, nil, nil)
		return
	}
	x.send(status, body, nil)
}

// shortBody is shorter than what net/http keeps of a body until the handler has returned, and a plain request's answer keeps all of it (package
// httpfast). Then the length is found out without us, which costs 0.2 µs less than to be told.
const shortBody = 2048

// send is write with the body's length as its header has it, nil where that is not at hand.
func (x *exchange) send(status int, body []byte, length []string) {
	x.leaveBody()
	x.leaveHead(status)
	if body != nil {
		h := x.Writer.Header()
		if h["Content-Type"] == nil {
			h["Content-Type"] = applicationJSON
		}
		switch {
		case x.conn != nil && len(body) < shortBody && x.Request.Method != http.MethodHead:
		case length != nil:
			h["Content-Length"] = length
		default:
			x.set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	x.Writer.WriteHeader(status)
	if body == nil || x.Request.Method == http.MethodHead {
		x.Writer.WriteHeaderNow()
		return
	}
	// A client that is gone does not hear of it.
	_, _ = x.Writer.Write(body)
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
