package api

import (
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// maxURI is the longest request target, in bytes.
const maxURI = 8 << 10

// serve makes a route's handler for Gin.
func (a *api) serve(r route) gin.HandlerFunc {
	if r.deprecated != nil {
		r.links = []string{r.deprecated.links(a.prefix)}
	}
	if r.stability != "" {
		r.marks = []string{string(r.stability)}
	}
	observed := a.metrics.route(r.path)
	return func(c *gin.Context) {
		x := exchanges.Get().(*exchange)
		x.Context, x.route, x.metrics = c, &r, observed
		x.headers.Header = c.Writer.Header()
		x.started = time.Now()
		x.now = x.started
		if a.Clock != nil {
			x.now = a.Clock()
		}
		x.cache = connCacheOf(c.Writer)
		x.id = requestID(c.Request.Header, x.started)
		defer a.finish(x)
		if err := a.answer(x); err != nil {
			a.fail(x, err)
		}
	}
}

// exchanges spare each request its 1.2 kB.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// answer handles a request in the order of precedence of the answers: 414, who calls, 429, 404 and 405 and OPTIONS,
// 401, 410, and then what the operation itself has to say.
func (a *api) answer(x *exchange) error {
	x.mark()
	if len(x.Request.RequestURI) > maxURI {
		// Nobody is asked yet who calls, so this counts as the address's.
		x.limits = addressLimits(a.takeAddress(x))
		return codeURITooLong.err()
	}
	a.identify(x)
	if err := a.admit(x); err != nil {
		return err
	}
	if x.refusal != nil && (!x.route.open || x.refusal.code.status >= http.StatusInternalServerError) {
		return x.refusal
	}
	if x.route.deprecated.over(x.now) {
		return x.route.deprecated.gone()
	}
	return x.route.handle(a, x)
}

// finish ends every exchange, also one whose handler panicked: it leaves the one event in the log and the one
// observation in the metrics.
func (a *api) finish(x *exchange) {
	cut := false
	if v := recover(); v != nil {
		cut = a.recovered(x, v)
	}
	elapsed, status := time.Since(x.started), x.status()
	x.metrics.observe(x, status, elapsed)
	a.record(x, status, elapsed)
	*x = exchange{}
	exchanges.Put(x)
	if cut {
		// The server closes the connection, so that nobody takes half an answer for a whole one.
		panic(http.ErrAbortHandler)
	}
}
