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
		b = appendCaller(b, x.caller)
	}
	b = appendMilliseconds(append(b, `,"duration_ms":`...), elapsed)
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(max(0, x.Writer.Size())), 10)
	e.Ctx(x).RawJSON("request_id", b)
	if x.failed != nil {
		logFailure(e, x.failed)
	}
	e.Msg("request")
}

// appendCaller appends the fields that say who called.
func appendCaller(b []byte, c *keys.Caller) []byte {
	b = strconv.AppendInt(append(b, `,"tenant":`...), c.Tenant.ID, 10)
	b = appendText(append(b, `,"key":`...), c.KeyID)
	return appendText(append(b, `,"plan":`...), c.Tenant.Plan)
}

// appendText appends a string as zerolog writes it, which does so where anything has to be escaped.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			var event strings.Builder
			log := zerolog.New(&event)
			log.Log().Str("", s).Send()
			return append(b, strings.TrimSuffix(strings.TrimPrefix(event.String(), `{"":`), "}\n")...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
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
