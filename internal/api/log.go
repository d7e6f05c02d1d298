package api

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
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
//
// Its fields are written out here, all as the value of the first: 0.3 µs less than field by field, and the same bytes.
func (a *api) record(x *exchange, s *series, elapsed time.Duration) {
	e := a.Log.Info()
	if status := s.of.status; status >= 500 || status != statusGone && x.failed != nil && x.failed.code.status >= 500 {
		// Also when the answer had begun as another one.
		e = a.Log.Error()
	}
	if !e.Enabled() {
		return
	}
	var space [512]byte
	b := append(append(append(space[:0], '"'), x.id...), s.text...)
	if x.caller != nil {
		b = x.kept.appendCaller(b, x.caller)
	}
	b = appendMilliseconds(append(b, `,"duration_ms":`...), elapsed)
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(max(0, x.Writer.Size())), 10)
	e.Ctx(x).RawJSON("request_id", b)
	if x.failed != nil {
		logFailure(e, x.failed)
	}
	e.Msg("request")
}

// appendCaller appends the fields that say who called. A connection writes them once for each caller.
func (k *kept) appendCaller(b []byte, c *keys.Caller) []byte {
	if k == nil {
		return append(b, callerFields(c)...)
	}
	if k.caller != c {
		k.caller, k.callerFields = c, callerFields(c)
	}
	return append(b, k.callerFields...)
}

// callerFields are written by zerolog, which escapes what has to be.
func callerFields(c *keys.Caller) string {
	var b strings.Builder
	log := zerolog.New(&b)
	log.Log().Int64("tenant", c.Tenant.ID).Str("key", c.KeyID).Str("plan", c.Tenant.Plan).Send()
	// An object and a line break.
	return "," + strings.TrimSuffix(strings.TrimPrefix(b.String(), "{"), "}\n")
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
