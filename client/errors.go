package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code says what kind of error an answer is. It is an error itself, to compare with:
//
//	errors.Is(err, client.CodeRateLimitExceeded)
//
// Codes are only ever added: expect some that have no name here.
type Code string

// The codes, with the status that each comes with.
const (
	CodeInvalidJSON           Code = "invalid_json"            // 400: the body is not valid JSON
	CodeMissingBody           Code = "missing_body"            // 400: the body is empty
	CodeValidationFailed      Code = "validation_failed"       // 400: a field's value is invalid; the message names it
	CodeInvalidParameter      Code = "invalid_parameter"       // 400: a query parameter's value is invalid
	CodeInvalidCursor         Code = "invalid_cursor"          // 400: the cursor is none that a list gave
	CodeIdempotencyKeyInvalid Code = "idempotency_key_invalid" // 400: not 1 to 255 visible ASCII characters

	CodeMissingAPIKey Code = "missing_api_key" // 401: the request came without a key
	CodeInvalidAPIKey Code = "invalid_api_key" // 401: malformed, unknown, revoked, expired, or of another deployment

	CodePetNotFound      Code = "pet_not_found"      // 404: no animal of that id in your catalogue
	CodeOrderNotFound    Code = "order_not_found"    // 404: no order of that id
	CodeRouteNotFound    Code = "route_not_found"    // 404: no such path; look at the base URL
	CodeMethodNotAllowed Code = "method_not_allowed" // 405: the path does not have that method

	CodePetNotAvailable       Code = "pet_not_available"       // 409: the animal is pending or sold
	CodeInvalidTransition     Code = "invalid_transition"      // 409: the status can't become that one
	CodeIdempotencyInProgress Code = "idempotency_in_progress" // 409: the first request with that key still runs

	CodeEndpointRemoved      Code = "endpoint_removed"       // 410: the operation was removed after its sunset
	CodeBodyTooLarge         Code = "body_too_large"         // 413: over 1 MiB
	CodeURITooLong           Code = "uri_too_long"           // 414: over 8 KiB
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415: the body is not application/json
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422: that key was sent before with another body

	CodeRateLimitExceeded  Code = "rate_limit_exceeded"  // 429: this minute's requests are used up
	CodeDailyQuotaExceeded Code = "daily_quota_exceeded" // 429: this UTC day's requests are used up
	CodeKeyBanned          Code = "key_banned"           // 429: the key went on after 429 and is banned until RetryAfter

	CodeInternalError Code = "internal_error" // 500: the service's own fault; support wants the RequestID
	CodeUnavailable   Code = "unavailable"    // 503: the service can't answer at the moment
)

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// Error is an answer that is no success.
type Error struct {
	// Method and Path are the request's, without the query.
	Method, Path string
	// Status is the HTTP status.
	Status int
	// Code is empty when the answer is not the API's own, as a proxy's.
	Code Code
	// Message is for people. It may change.
	Message string
	// RequestID is what support asks for.
	RequestID string
	// RetryAfter is how long to wait before another request, 0 when the answer doesn't say.
	RetryAfter time.Duration
	Rate       Rate
}

// Error says what was asked and what was answered, on one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "petstore: %s %s: %d", e.Method, e.Path, e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	fmt.Fprintf(&b, ": %s", e.Message)
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Is reports whether target is the error's [Code].
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// newError reads an answer that is no success. A key that a proxy echoes doesn't get into it.
func (c *Client) newError(cl *call, a *answer) *Error {
	e := &Error{
		Method:     cl.method,
		Path:       c.url(cl).Path,
		Status:     a.status,
		Message:    http.StatusText(a.status),
		RequestID:  strings.ReplaceAll(a.header.Get("X-Request-Id"), c.key(), redacted),
		RetryAfter: retryAfter(a.header, c.now()),
		Rate:       rateOf(a.header),
	}
	if a.status/100 == 3 {
		e.Message = "a redirect, which is not followed; is the base URL the right one?"
	}
	var body struct {
		Code    Code
		Message string
	}
	if json.Unmarshal(bytes.ReplaceAll(a.body, []byte(c.key()), []byte(redacted)), &body) == nil && body.Code != "" {
		e.Code, e.Message = body.Code, body.Message
	}
	return e
}

const redacted = "[redacted]"
