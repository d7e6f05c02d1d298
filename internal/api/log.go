package api

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/loglimit"
)

// status returns the status for the log and the metrics.
func (x *exchange) status() int {
	if x.gaveUp() {
		return statusGone
	}
	return x.Writer.Status()
}

// record logs the request. Of many requests that count in no plan's limits, only some are logged.
// Of requests that failed on our side, one a second of each kind is logged. Of the client's texts
// the line has the request ID and, if the request failed, the address and the user agent.
func (a *api) record(x *exchange, status int, elapsed time.Duration) {
	log, level := &a.Log, zerolog.InfoLevel
	suppressed := int64(0)
	switch {
	case x.isTrouble(status):
		var ok bool
		if ok, suppressed = a.trouble.Allow(trouble{x.failed.Code.Name, x.failureReason(), x.route.path}); !ok {
			return
		}
		level = zerolog.ErrorLevel
	case x.Caller == nil:
		log = &a.strangerLog
	case !x.Counted:
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
		logClient(e, x.Address(), x.Request.Header)
	}
	if x.Simulated != nil {
		e.Bool("simulated", true)
	}
	if suppressed > 0 {
		e.Int64(loglimit.Suppressed, suppressed)
	}
	e.Msg("request")
}

// logClient logs the client of a failed request.
func logClient(e *zerolog.Event, from netip.Addr, header http.Header) {
	var space [64]byte
	if from.IsValid() {
		e.Bytes("address", from.AppendTo(space[:0]))
	}
	if agent := userAgent(header); agent != "" {
		e.Str("user_agent", agent)
	}
}

func logFailure(e *zerolog.Event, failed *problem.Error, reason string) {
	e.Str("code", failed.Code.Name)
	if reason != "" {
		e.Str("reason", reason)
	}
	if failed.Cause == nil {
		return
	}
	e.AnErr("error", failed.Cause)
	if p, ok := errors.AsType[*panicked](failed.Cause); ok {
		e.Bytes("stack", p.stack)
	}
}
