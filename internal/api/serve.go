package api

import (
	"cmp"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
)

// maxURI is the longest request target, in bytes.
const maxURI = 8 << 10

// serve returns the Gin handler of an operation.
func (a *api) serve(o operation) gin.HandlerFunc {
	r := &o.route
	r.help, r.onlyTLS = a.help, a.onlyTLS
	if r.deprecated != nil {
		a.announce(r)
	}
	if r.stability != "" {
		r.stabilityHeader = []string{string(r.stability)}
	}
	facts := gate.Facts{
		Unmetered: r.unmetered, Counts: r.counts, Writes: r.writes, Public: r.public, ChangesKeys: r.changesKeys,
	}
	observed, proxied := a.metrics.forRoute(r.path), len(a.TrustedProxies) > 0
	return func(c *gin.Context) {
		x := takeExchange()
		x.Context, x.route, x.metrics, x.proxied = c, r, observed, proxied
		x.headers.Header = c.Writer.Header()
		x.asked = gate.Request{
			Method:   c.Request.Method,
			Header:   c.Request.Header,
			RawQuery: c.Request.URL.RawQuery,
			Route:    &facts,
			Sender:   x,
			Needs:    x.needs(),
		}
		a.gate.SetNow(&x.asked)
		x.id = requestID(c.Request.Header, x.asked.Came)
		defer a.finish(x)
		if err := a.answer(x, o.handle); err != nil {
			a.fail(x, err)
		}
	}
}

// answer serves a request. The response is the first that applies of 414, 429, 404, 405 or the one
// to OPTIONS, 401, 410, and the operation's own.
func (a *api) answer(x *exchange, handle handler) error {
	x.setRouteHeaders()
	if len(x.Request.RequestURI) > maxURI {
		// The caller is not identified yet, so the request counts for its address.
		a.gate.CountAddress(&x.asked, &x.Outcome)
		return problem.URITooLong.Err()
	}
	came := x.asked.Came
	invalid, err := a.gate.Pass(x.Request.Context(), &x.asked, &x.Outcome)
	a.startTrace(x, came)
	if x.Simulated != nil {
		err = a.simulatedError(x, err)
	}
	if err != nil {
		return err
	}
	if x.route.deprecated.over(x.asked.Now) {
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
	return handle(a, x)
}

// finish ends every exchange, even if its handler panicked. It makes the log event and the
// observation in the metrics.
func (a *api) finish(x *exchange) {
	cut := false
	if v := recover(); v != nil {
		cut = a.recovered(x, v)
	}
	x.ReleaseWrite()
	elapsed, status := time.Since(x.asked.Came), x.status()
	if a.Tracer != nil {
		a.endTrace(x, status)
	}
	a.record(x, status, elapsed)
	if x.Simulated == nil {
		x.metrics.observe(x.Request.Method, x.plan(), status, elapsed, x.traceID)
		if x.failed != nil {
			a.metrics.countFailed(x.errorKind())
		}
		a.keepFailed(x, status, elapsed)
	}
	a.bodies.end(&x.body)
	c, lingers := x.Context, x.lingers
	*x = exchange{}
	exchanges.Put(x)
	if cut {
		// The server then closes the connection, so that the client does not take a partial
		// response for a complete one.
		panic(http.ErrAbortHandler)
	}
	if lingers {
		linger(c)
	}
}

// recovered responds with 500 for a handler that panicked. cut is true if the connection must be
// closed: because the response had begun, or because the handler panicked with
// http.ErrAbortHandler.
func (a *api) recovered(x *exchange, v any) (cut bool) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	err := problem.InternalError.WithCause(&panicked{value: v, stack: debug.Stack()})
	if x.Writer.Written() {
		a.gate.Refund(x.Request.Context(), &x.asked, &x.Outcome)
		x.failed = err
		return true
	}
	a.fail(x, err)
	return false
}

// fail is the only function that sends an error response.
func (a *api) fail(x *exchange, err error) {
	e := x.aboutQuery(problem.Of(err))
	x.failed = e
	if e.Code.Status >= http.StatusInternalServerError && !x.gaveUp() {
		a.gate.Refund(x.Request.Context(), &x.asked, &x.Outcome)
	}
	a.gate.ReturnKeyChange(&x.asked, &x.Outcome)
	switch e.Code {
	case problem.MissingAPIKey:
		x.set("WWW-Authenticate", problem.Challenge)
	case problem.InvalidAPIKey:
		x.set("WWW-Authenticate", cmp.Or(e.Challenge, problem.ChallengeInvalid))
	case problem.InsufficientScope:
		x.set("WWW-Authenticate", cmp.Or(e.Challenge, problem.ChallengeScope+`"write"`))
	}
	if e.RetrySeconds > 0 {
		x.set("Retry-After", strconv.FormatInt(e.RetrySeconds, 10))
	}
	x.headers.Header["Link"] = x.route.help[e.Code.Number]
	body := e.Code.Body
	switch {
	case e.Body != nil:
		body = e.Body
	case e.Message != e.Code.Message:
		body = problem.Body(e.Code, e.Message)
	}
	x.write(e.Code.Status, body)
}
