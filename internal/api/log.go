package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/loglimit"
)

// statusGone is the status in the log and the metrics of a request that its client broke off. nginx
// uses the same number.
const statusGone = 499

// status returns the status for the log and the metrics.
func (x *exchange) status() int {
	if x.gaveUp() {
		return statusGone
	}
	return x.Writer.Status()
}

// record logs the request. Of those that no plan limits only some are logged if there are many, and
// of those that failed on our side one a second of each kind. Of what the client chose the line has
// the request ID and, if the request failed, the address and the user agent.
func (a *api) record(x *exchange, status int, elapsed time.Duration) {
	log, level := &a.Log, zerolog.InfoLevel
	suppressed := int64(0)
	switch {
	case x.isTrouble(status):
		var ok bool
		if ok, suppressed = a.trouble.Allow(trouble{x.failed.code.name, x.failureReason(), x.route.path}); !ok {
			return
		}
		level = zerolog.ErrorLevel
	case x.caller == nil:
		log = &a.strangerLog
	case !x.counted:
		log = &a.uncountedLog
	}
	e := log.WithLevel(level)
	if !e.Enabled() {
		return
	}
	e.Str(
		"request_id",
		x.id,
	).Str(
		"method",
		methodName(x.Request.Method),
	).Str(
		"route",
		x.route.path,
	).Int(
		"status",
		status,
	)
	if id := a.traceOf(x); id != "" {
		e.Str("trace_id", id)
	}
	if c := x.owner(); c != nil {
		e.Str("tenant", c.Tenant.Name).Int64("tenant_id", c.Tenant.ID).Str("key", c.KeyID).Str("plan", c.Tenant.Plan)
	}
	e.Dur("duration_ms", elapsed).Int("bytes", max(0, x.Writer.Size()))
	if x.failed != nil {
		logFailure(e, x.failed, x.failureReason())
		logClient(e, a.address(x), x.Request.Header)
	}
	if x.simulated != nil {
		e.Bool("simulated", true)
	}
	if suppressed > 0 {
		e.Int64(loglimit.Suppressed, suppressed)
	}
	e.Msg("request")
}

// isTrouble reports whether the request failed on our side. The handler may have failed after it
// sent another status.
func (x *exchange) isTrouble(status int) bool {
	return x.failed != nil && x.simulated == nil && status != statusGone &&
		x.failed.code.status >= http.StatusInternalServerError
}

// trouble is a kind of failure on our side.
type trouble struct{ code, reason, route string }

// newTrouble returns what limits the lines of each kind.
func newTrouble(log zerolog.Logger) *loglimit.Limiter[trouble] {
	return loglimit.New(func(of trouble, suppressed int64) {
		e := log.Error().Str("code", of.code).Str("route", of.route)
		if of.reason != "" {
			e.Str("reason", of.reason)
		}
		e.Int64(loglimit.Suppressed, suppressed).Msg("requests that failed")
	})
}

// logClient logs who sent a request that failed.
func logClient(e *zerolog.Event, from netip.Addr, header http.Header) {
	var space [64]byte
	if from.IsValid() {
		e.Bytes("address", from.AppendTo(space[:0]))
	}
	if agent := userAgent(header); agent != "" {
		e.Str("user_agent", agent)
	}
}

// panicked is the operator's error of a handler that panicked. The stack holds functions and lines;
// it is taken where the panic is, and knows neither headers nor query.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func logFailure(e *zerolog.Event, failed *Error, reason string) {
	e.Str("code", failed.code.name)
	if reason != "" {
		e.Str("reason", reason)
	}
	if failed.cause == nil {
		return
	}
	e.AnErr("error", failed.cause)
	if p, ok := errors.AsType[*panicked](failed.cause); ok {
		e.Bytes("stack", p.stack)
	}
}
