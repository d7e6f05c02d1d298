package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Code identifies the kind of an error response. It is an error itself, for use with [errors.Is]:
//
//	errors.Is(err, client.CodeRateLimitExceeded)
//
// Codes are only ever added. Expect codes that have no constant here.
type Code string

// The codes, each with its HTTP status.
const (
	CodeMalformedRequest      Code = "malformed_request"       // 400: the request is not valid HTTP
	CodeInvalidJSON           Code = "invalid_json"            // 400: the body is not valid JSON
	CodeMissingBody           Code = "missing_body"            // 400: there is no body
	CodeValidationFailed      Code = "validation_failed"       // 400: a field's value is invalid; the message names it
	CodeInvalidParameter      Code = "invalid_parameter"       // 400: a query parameter's value is invalid
	CodeInvalidCursor         Code = "invalid_cursor"          // 400: the cursor is not one that a list returned
	CodeInvalidURL            Code = "invalid_url"             // 400: events can't be sent to this URL
	CodeIdempotencyKeyInvalid Code = "idempotency_key_invalid" // 400: not 1 to 255 visible ASCII characters

	CodeMissingAPIKey Code = "missing_api_key" // 401: the request has no key
	CodeInvalidAPIKey Code = "invalid_api_key" // 401: malformed, unknown, revoked, expired, or for another deployment

	CodeAddressNotAllowed Code = "address_not_allowed" // 403: the key may not be used from this address
	CodeInsufficientScope Code = "insufficient_scope"  // 403: the scope of the key is too narrow

	CodePetNotFound      Code = "pet_not_found"      // 404: no animal with this ID in your catalogue
	CodeOrderNotFound    Code = "order_not_found"    // 404: no order with this ID in your account
	CodeKeyNotFound      Code = "key_not_found"      // 404: no API key with this ID in your account
	CodeWebhookNotFound  Code = "webhook_not_found"  // 404: no webhook with this ID in your account
	CodeDeliveryNotFound Code = "delivery_not_found" // 404: no delivery with this ID is stored
	CodeRequestNotFound  Code = "request_not_found"  // 404: no failed request with this ID is stored
	CodeRouteNotFound    Code = "route_not_found"    // 404: the path does not exist; check the base URL
	CodeMethodNotAllowed Code = "method_not_allowed" // 405: the path does not support this method

	CodePetNotAvailable       Code = "pet_not_available"       // 409: the animal is pending or sold
	CodeInvalidTransition     Code = "invalid_transition"      // 409: the status cannot change in this way
	CodeKeyNotActive          Code = "key_not_active"          // 409: the API key was revoked or has expired
	CodeKeyAlreadyRotated     Code = "key_already_rotated"     // 409: the API key has a replacement
	CodeTooManyKeys           Code = "too_many_keys"           // 409: 10 valid keys were not rotated
	CodeLastManageKey         Code = "last_manage_key"         // 409: no other key may manage keys from here
	CodeWouldLockOut          Code = "would_lock_out"          // 409: the addresses lack yours; see ConfirmLockout
	CodeKeyAlreadyIssued      Code = "key_already_issued"      // 409: an earlier request with this key issued it
	CodeTooManyWebhooks       Code = "too_many_webhooks"       // 409: your account has 5
	CodeWebhookDisabled       Code = "webhook_disabled"        // 409: nothing is sent to it
	CodeWebhookAlreadyCreated Code = "webhook_already_created" // 409: an earlier request with this key added it
	CodeIdempotencyInProgress Code = "idempotency_in_progress" // 409: the first request with this key is in progress

	CodeEndpointRemoved      Code = "endpoint_removed"       // 410: the operation was removed after its sunset
	CodePreconditionFailed   Code = "precondition_failed"    // 412: it has changed since you read the ETag of IfMatch
	CodeBodyTooLarge         Code = "body_too_large"         // 413: over 1 MiB
	CodeURITooLong           Code = "uri_too_long"           // 414: over 8 KiB
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415: the body is not application/json
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422: the key was used with another body

	CodeRateLimitExceeded    Code = "rate_limit_exceeded"    // 429: the limit per minute is used up
	CodeDailyQuotaExceeded   Code = "daily_quota_exceeded"   // 429: the quota of the UTC day is used up
	CodeMonthlyQuotaExceeded Code = "monthly_quota_exceeded" // 429: the requests of the UTC month are used up
	CodeKeyBanned            Code = "key_banned"             // 429: the key went on after 429; banned for RetryAfter

	CodeInternalError Code = "internal_error" // 500: the service failed; send the RequestID to support
	CodeUnavailable   Code = "unavailable"    // 503: for now; with a RequestID the request never takes effect

	CodeOutcomeUnknown Code = "outcome_unknown" // 503: the POST, PATCH or DELETE may have taken effect, or may still
)

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Error is an error response.
type Error struct {
	// Method and Path are the request's, without the query.
	Method, Path string
	// Status is the HTTP status.
	Status int
	// Code is empty if the response is not from the API, for example from a proxy.
	Code Code
	// Message is for people. Its wording may change.
	Message string
	// RequestID identifies the request. Include it when you contact support.
	RequestID string
	// RetryAfter is how long to wait before the next request, at least 1 s. It is 0 if the response
	// does not say.
	RetryAfter time.Duration
	// DocURL is the address of the documentation of the Code, empty if the response has none.
	DocURL string
	Rate   Rate
}

// The kinds of errors, for use with [errors.Is]. Each [*Error] with one of these statuses is of
// that kind, whatever its Code.
var (
	ErrAuthentication = errors.New("petstore: authentication failed") // 401, 403
	ErrNotFound       = errors.New("petstore: not found")             // 404, 410
	ErrConflict       = errors.New("petstore: conflict")              // 409, 412
	ErrValidation     = errors.New("petstore: invalid request")       // 400, 413, 414, 415, 422
	ErrRateLimit      = errors.New("petstore: limit exceeded")        // 429
	ErrServer         = errors.New("petstore: server error")          // 500 and above
	// ErrTimeout and ErrConnection are the kinds of errors without a response: it did not come in
	// time, or not at all or not completely for any other reason.
	ErrTimeout    = errors.New("petstore: no response in time")
	ErrConnection = errors.New("petstore: no response")
)

// kind returns the kind of a status, nil for none.
func kind(status int) error {
	switch status {
	case 401, 403:
		return ErrAuthentication
	case 404, 410:
		return ErrNotFound
	case 409, 412:
		return ErrConflict
	case 400, 413, 414, 415, 422:
		return ErrValidation
	case 429:
		return ErrRateLimit
	}
	if status >= http.StatusInternalServerError {
		return ErrServer
	}
	return nil
}

// Error describes the request and the response in one line.
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
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; try again in %.0f s", math.Ceil(e.RetryAfter.Seconds()))
	}
	return b.String()
}

// Is reports whether target is the error's [Code] or its kind.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code || target == kind(e.Status)
}

// newError makes an Error from an error response. If a proxy echoes the key, it is redacted.
func (c *Client) newError(cl *call, a *rawResponse) *Error {
	e := &Error{
		Method:     cl.method,
		Path:       c.url(cl).Path,
		Status:     a.status,
		RequestID:  c.keys.redact(a.header.Get("X-Request-Id")),
		RetryAfter: retryAfter(a.header, time.Now()),
		DocURL:     c.keys.redact(docURL(c.base, a.header)),
		Rate:       rateOf(a.header),
	}
	text := c.keys.redact(string(a.body))
	var body struct {
		Code    Code
		Message string
	}
	if json.Unmarshal([]byte(text), &body) == nil && body.Code != "" {
		e.Code, e.Message = body.Code, body.Message
		return e
	}
	// The response is a proxy's.
	short := []rune(strings.Join(strings.Fields(text), " "))
	e.Message = cmp.Or(string(short[:min(len(short), longestText)]), http.StatusText(a.status))
	if a.status/100 == 3 {
		e.Message = "redirect not followed; check the base URL"
	}
	return e
}

// longestText is how many characters of a proxy's response an error shows.
const longestText = 200

const redacted = "[redacted]"
