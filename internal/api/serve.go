package api

import (
	"cmp"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// maxURI is the longest request target, in bytes.
const maxURI = 8 << 10

// serve returns the Gin handler of a route.
func (a *api) serve(r route) gin.HandlerFunc {
	r.help, r.onlyTLS = a.help, a.onlyTLS
	if r.deprecated != nil {
		a.announce(&r)
	}
	if r.stability != "" {
		r.stabilityHeader = []string{string(r.stability)}
	}
	observed := a.metrics.forRoute(r.path)
	return func(c *gin.Context) {
		x := exchanges.Get().(*exchange)
		x.Context, x.route, x.metrics = c, &r, observed
		x.headers.Header = c.Writer.Header()
		x.started = time.Now()
		x.now = x.started
		if a.Instant != nil {
			x.now = a.Instant(x.started)
		}
		x.cache = connCacheOf(c.Request.Context())
		x.id = requestID(c.Request.Header, x.started)
		defer a.finish(x)
		if err := a.answer(x); err != nil {
			a.fail(x, err)
		}
	}
}

// announce makes the headers of a route's deprecation.
func (a *api) announce(r *route) {
	r.links = []string{r.deprecated.links(a.prefix)}
	r.help = helpLinks(a.root, r.links[0]+", ")
}

// exchanges are reused, because one has about 1 kB.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// answer serves a request. The first of these that applies is the response: 414, 429, 404, 405 or
// OPTIONS, 401, 410, the operation's own.
func (a *api) answer(x *exchange) error {
	x.setRouteHeaders()
	if len(x.Request.RequestURI) > maxURI {
		// The caller is not identified yet, so the request counts for its address.
		x.limits = addressLimits(a.Addresses.Take(a.address(x), x.now))
		return codeURITooLong.err()
	}
	came := x.started
	a.identify(x)
	identified := a.Tracer.Now()
	var invalid *Error
	if x.caller != nil {
		invalid = a.simulate(x)
	}
	admitting := a.Tracer.Now()
	err := a.admit(x)
	a.startTrace(x, came, identified, admitting)
	if err != nil {
		return err
	}
	if x.refusal != nil &&
		(!x.route.public || x.refusal.code.status != http.StatusUnauthorized &&
			x.refusal.code != codeAddressNotAllowed) {
		return x.refusal
	}
	if x.caller != nil && !x.caller.Access.May(x.needs()) {
		return scopeRefusal(x.caller.Access.Scope(), x.needs())
	}
	if x.route.changesKeys {
		if err := a.takeKeyChange(x); err != nil {
			return err
		}
	}
	if x.route.deprecated.over(x.now) {
		return x.route.deprecated.gone()
	}
	if invalid != nil && !x.route.public {
		return invalid
	}
	if x.route.ignoresQuery && x.Request.URL.RawQuery != "" {
		if err := x.checkQuery(); err != nil && x.isRead() {
			return err
		}
	}
	return x.route.handle(a, x)
}

// finish ends every exchange, also one whose handler panicked. It makes the log event and the
// observation in the metrics.
func (a *api) finish(x *exchange) {
	cut := false
	if v := recover(); v != nil {
		cut = a.recovered(x, v)
	}
	x.releaseWrite()
	elapsed, status := time.Since(x.started), x.status()
	if a.Tracer != nil {
		a.endTrace(x, status)
	}
	a.record(x, status, elapsed)
	if x.simulated == nil {
		x.metrics.observe(x.Request.Method, x.plan(), status, elapsed, x.traceID)
		if x.failed != nil {
			a.metrics.countFailed(x)
		}
		a.keepFailed(x, status, elapsed)
	}
	a.bodies.end(x)
	c, lingers := x.Context, x.lingers
	*x = exchange{}
	exchanges.Put(x)
	if cut {
		// The server closes the connection, so that the client does not take a part of the response
		// for all of it.
		panic(http.ErrAbortHandler)
	}
	if lingers {
		linger(c)
	}
}

// recovered responds with 500 for a handler that panicked. It reports whether the connection must
// be closed: because the response had begun, or because the handler panicked with
// http.ErrAbortHandler.
func (a *api) recovered(x *exchange, v any) (cut bool) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	err := codeInternalError.withCause(&panicked{value: v, stack: debug.Stack()})
	if x.Writer.Written() {
		a.refund(x)
		x.failed = err
		return true
	}
	a.fail(x, err)
	return false
}

// fail sends an error response. Nothing else does.
func (a *api) fail(x *exchange, err error) {
	e := x.aboutQuery(toError(err))
	x.failed = e
	if e.code.status >= http.StatusInternalServerError && !x.gaveUp() {
		a.refund(x)
	}
	if x.keyChange {
		a.KeyChanges.Return(x.caller.Tenant.ID, x.now)
	}
	switch e.code {
	case codeMissingAPIKey:
		x.set("WWW-Authenticate", challenge)
	case codeInvalidAPIKey:
		x.set("WWW-Authenticate", cmp.Or(e.challenge, challengeInvalid))
	case codeInsufficientScope:
		x.set("WWW-Authenticate", cmp.Or(e.challenge, challengeScope+`"write"`))
	}
	if e.retrySeconds > 0 {
		x.set("Retry-After", strconv.FormatInt(e.retrySeconds, 10))
	}
	x.headers.Header["Link"] = x.route.help[e.code.number]
	body := e.code.body
	switch {
	case e.body != nil:
		body = e.body
	case e.message != e.code.message:
		body = errorBody(e.code, e.message)
	}
	x.write(e.code.status, body)
}
