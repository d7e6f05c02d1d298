package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/api/shares"
	"petstore.example/internal/limits"
)

// readBody returns the body of a request, which must be JSON, and whether the client prefers strict
// handling. The response confirms that preference. If a body is too long, its rest is not read.
func readBody(b *bodyBudget, x *exchange) (data []byte, strict bool, err error) {
	data, err = readAll(b, x, jsonbody.MaxBytes)
	if err == nil {
		err = x.checkMediaType()
	}
	if err != nil {
		return nil, false, err
	}
	if x.unknownParams != nil {
		return nil, false, x.unknownParams
	}
	strict = httpfield.PrefersStrict(x.Request.Header["Prefer"])
	if strict {
		x.headers.Header["Preference-Applied"] = handlingStrict
	}
	return data, strict, nil
}

// readOptionalBody is readBody for an operation whose body may be left out. No body means the same
// as an empty object.
func readOptionalBody(b *bodyBudget, x *exchange) (data []byte, err error) {
	data, _, err = readBody(b, x)
	if e, ok := errors.AsType[*problem.Error](err); ok && e.Code == problem.MissingBody {
		if x.unknownParams != nil {
			return nil, x.unknownParams
		}
		return []byte("{}"), nil
	}
	return data, err
}

const (
	// A body that took longer than slowBody may have used up the server's time for the exchange.
	// Then the exchange gets another slowAnswer.
	slowBody   = time.Second
	slowAnswer = 30 * time.Second
)

// readAll reads a body of up to most bytes.
func readAll(b *bodyBudget, x *exchange, most int) ([]byte, error) {
	if x.Request.ContentLength > int64(most) {
		return nil, x.tooLarge(most)
	}
	started, conn := time.Now(), http.NewResponseController(x.Writer)
	data, err := receive(b, x, conn, most)
	x.bodyRead = true
	if now := time.Now(); now.Sub(started) > slowBody {
		_ = conn.SetReadDeadline(time.Time{})
		_ = conn.SetWriteDeadline(now.Add(slowAnswer))
	}
	switch {
	case errors.Is(err, errBodiesFull):
		x.closeEarly()
		return nil, problem.Unavailable.WithCause(err).RetryAfter(1)
	case len(data) > most:
		return nil, x.tooLarge(most)
	case err != nil:
		return nil, x.brokenBody(data)
	case len(data) == 0:
		// This check is before the media type's: a client that sends no body sends no type either.
		return nil, problem.MissingBody.Err()
	}
	return data, nil
}

// receive reads the body, at most one byte more than allowed. It reserves memory as bytes arrive,
// so that a declared length alone costs nothing.
func receive(b *bodyBudget, x *exchange, conn *http.ResponseController, most int) ([]byte, error) {
	data, due := make([]byte, 0, x.bodyRoom(0, most)), 0
	for len(data) <= most {
		if len(data) == cap(data) {
			room := x.bodyRoom(cap(data), most)
			if !b.reserveRoom(&x.body, x.bodyHolder, room) {
				return nil, errBodiesFull
			}
			data = append(make([]byte, 0, room), data...)
		}
		if len(data) >= due {
			_ = conn.SetReadDeadline(time.Now().Add(b.window)) // Without a connection there is nothing to limit.
			due = len(data) + bytesPerWindow
		}
		n, err := x.Request.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// bodyRoom returns how much room the body needs next, in bytes. That is twice as much as it has and
// at least 512, but at most one more than its length or its maximum.
func (x *exchange) bodyRoom(has, most int) int {
	room := max(512, 2*has+1)
	if has == 0 && x.Request.ContentLength > 0 {
		room = freeBody
	}
	if length := x.Request.ContentLength; length >= 0 {
		room = max(has+1, min(room, int(length)+1))
	}
	return min(room, most+1)
}

// tooLarge closes the connection, because the rest of the body is not read.
func (x *exchange) tooLarge(most int) error {
	x.closeEarly()
	if most == maxForm {
		return problem.BodyTooLarge.WithMessage("A form must be at most 16 KiB (16384 bytes).")
	}
	return problem.BodyTooLarge.Err()
}

func (x *exchange) checkMediaType() error {
	h := x.Request.Header
	if types := h["Content-Type"]; len(types) != 1 || !isJSON(types[0]) {
		x.set("Accept", "application/json")
		return problem.UnsupportedMediaType.WithMessage(
			"Content-Type must be application/json, with charset utf-8 or none.",
		)
	}
	if encodings := h["Content-Encoding"]; len(encodings) > 0 &&
		!strings.EqualFold(strings.Join(encodings, ","), "identity") {
		x.set("Accept", "application/json")
		x.set("Accept-Encoding", "identity")
		return problem.UnsupportedMediaType.WithMessage(
			"Content-Encoding must be identity. Send the body uncompressed.",
		)
	}
	return nil
}

// isJSON accepts application/json, with no parameter except charset=utf-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return len(params) == 0 || len(params) == 1 && ok && strings.EqualFold(charset, "utf-8")
}

// maxForm is the longest body of a form of the account, in bytes.
const maxForm = 16 << 10

// bodyHolder returns the holder whose share of the budget the request's body uses. Forms of the
// account have no caller.
func (x *exchange) bodyHolder() shares.Holder {
	if x.Caller != nil {
		return shares.Holder{TenantID: x.Caller.Tenant.ID}
	}
	return shares.Holder{Network: limits.NetworkOf(x.Address())}
}
