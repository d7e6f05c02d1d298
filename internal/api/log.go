package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// statusGone is the status in the log and the metrics of a request that its client broke off. nginx uses the same number.
const statusGone = 499

// status returns the status for the log and the metrics.
func (x *exchange) status() int {
	if x.gaveUp() {
		return statusGone
	}
	return x.Writer.Status()
}

// record logs the request; of those that no plan limits only some, if there are many. The event holds nothing that the client chose freely,
// except a request ID that isRequestID accepted.
func (a *api) record(x *exchange, status int, elapsed time.Duration) {
	log := &a.Log
	switch {
	case x.failed != nil && x.failed.code == codeInternalError:
	case x.caller == nil:
		log = &a.strangerLog
	case !x.counted:
		log = &a.uncountedLog
	}
	level := zerolog.InfoLevel
	if status >= 500 || status != statusGone && x.failed != nil && x.failed.code.status >= 500 {
		// The handler may have failed after it sent another status.
		level = zerolog.ErrorLevel
	}
	e := log.WithLevel(level)
	if !e.Enabled() {
		return
	}
	e.Str("request_id", x.id).Str("method", methodName(x.Request.Method)).Str("route", x.route.path).Int("status", status)
	if c := x.caller; c != nil {
		e.Int64("tenant", c.Tenant.ID).Str("key", c.KeyID).Str("plan", c.Tenant.Plan)
	}
	e.Dur("duration_ms", elapsed).Int("bytes", max(0, x.Writer.Size()))
	if x.failed != nil {
		logFailure(e, x.failed)
	}
	e.Msg("request")
}

// panicked is the operator's error of a handler that panicked. The stack holds functions and lines; it is taken
// where the panic is, and knows neither headers nor query.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func logFailure(e *zerolog.Event, failed *Error) {
	e.Str("code", failed.code.name)
	if failed.cause == nil {
		return
	}
	e.AnErr("error", failed.cause)
	if p, ok := errors.AsType[*panicked](failed.cause); ok {
		e.Bytes("stack", p.stack)
	}
}
