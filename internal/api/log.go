package api

import (
	"errors"
	"strconv"
	"time"

	"github.com/rs/zerolog"
)

// statusGone is what the log and the metrics call a request that its client broke off, after nginx.
const statusGone = 499

// status is what came of the request, for the operator.
func (x *exchange) status() int {
	if x.gaveUp() {
		return statusGone
	}
	return x.Writer.Status()
}

// record writes the request's one event. It says nothing that the client chose freely, but for a request id that was
// found harmless.
func (a *api) record(x *exchange, elapsed time.Duration) {
	status := x.status()
	e := a.Log.Info()
	if status >= 500 || status != statusGone && x.failed != nil && x.failed.code.status >= 500 {
		// Also when the answer had begun as another one.
		e = a.Log.Error()
	}
	if !e.Enabled() {
		return
	}
	e.Str("request_id", x.id).Str("method", methodName(x.Request.Method)).Str("route", x.route.path).Int("status", status)
	if c := x.caller; c != nil {
		e.Int64("tenant", c.Tenant.ID).Str("key", c.KeyID).Str("plan", c.Tenant.Plan)
	}
	var space [24]byte
	e.RawJSON("duration_ms", appendMilliseconds(space[:0], elapsed)).Int("bytes", max(0, x.Writer.Size()))
	if x.failed != nil {
		logFailure(e, x.failed)
	}
	e.Msg("request")
}

// appendMilliseconds writes a duration to the microsecond: a float's shortest form takes four times as long to find.
func appendMilliseconds(b []byte, d time.Duration) []byte {
	us := d.Microseconds()
	b = strconv.AppendInt(b, us/1000, 10)
	return append(b, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
}

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
