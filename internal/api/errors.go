package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// errorCode is one kind of error in the API. Codes are only ever added.
type errorCode struct {
	status int
	name   string
	// message is for errors without a message of their own, and body is the response with it.
	message string
	body    []byte
	// number is the place in codes.
	number int
}

// codes lists the table in its order, that of docs/errors.md.
var codes []*errorCode

// newCode adds a code to the table.
func newCode(status int, name, message string) *errorCode {
	c := &errorCode{status: status, name: name, message: message, number: len(codes)}
	c.body = errorBody(c, message)
	codes = append(codes, c)
	return c
}

// The table of error codes. docs/errors.md explains them.
var (
	codeMalformedRequest = newCode(
		http.StatusBadRequest,
		"malformed_request",
		"The request is not valid HTTP: in the path a % must be followed by two hexadecimal digits, and each header "+
			"must be well-formed.",
	)
	codeInvalidJSON = newCode(http.StatusBadRequest, "invalid_json", "The body is not valid JSON.")
	codeMissingBody = newCode(
		http.StatusBadRequest,
		"missing_body",
		"The request has no body. Send a JSON object.",
	)
	codeValidationFailed = newCode(
		http.StatusBadRequest,
		"validation_failed",
		"A field of the body has an invalid value.",
	)
	codeInvalidParameter = newCode(
		http.StatusBadRequest,
		"invalid_parameter",
		"A query parameter has an invalid value.",
	)
	codeInvalidCursor = newCode(
		http.StatusBadRequest,
		"invalid_cursor",
		"cursor must be the value of X-Next-Cursor, unchanged.",
	)
	codeIdempotencyKeyInvalid = newCode(
		http.StatusBadRequest,
		"idempotency_key_invalid",
		"Idempotency-Key must be 1 to 255 visible ASCII characters, with or without double quotes.",
	)

	codeMissingAPIKey = newCode(
		http.StatusUnauthorized,
		"missing_api_key",
		"The request has no API key. Send the header Authorization: Bearer <API key>.",
	)
	codeInvalidAPIKey = newCode(
		http.StatusUnauthorized,
		"invalid_api_key",
		"The API key is malformed, unknown or no longer valid.",
	)

	// codeAddressNotAllowed is part of finding out who calls, as a 401 is: it counts for the
	// address, and not for the tenant.
	codeAddressNotAllowed = newCode(
		http.StatusForbidden,
		"address_not_allowed",
		"This API key can't be used from this address.",
	)
	codeInsufficientScope = newCode(
		http.StatusForbidden,
		"insufficient_scope",
		"The scope of this API key does not allow this operation.",
	)

	codePetNotFound = newCode(
		http.StatusNotFound,
		"pet_not_found",
		"No animal with this ID exists in your catalogue.",
	)
	codeOrderNotFound = newCode(
		http.StatusNotFound,
		"order_not_found",
		"No order with this ID exists in your account.",
	)
	codeKeyNotFound = newCode(
		http.StatusNotFound,
		"key_not_found",
		"No API key with this ID exists in your account.",
	)
	codeRequestNotFound = newCode(
		http.StatusNotFound,
		"request_not_found",
		"No failed request with this ID is stored for your account. Failed requests are stored for a day, and not "+
			"all of them.",
	)
	codeRouteNotFound    = newCode(http.StatusNotFound, "route_not_found", "There is no such path.")
	codeMethodNotAllowed = newCode(
		http.StatusMethodNotAllowed,
		"method_not_allowed",
		"This path does not support this method.",
	)
	codePetNotAvailable = newCode(
		http.StatusConflict,
		"pet_not_available",
		"The animal is pending or sold and cannot be ordered. Order one whose status is available.",
	)
	codeInvalidTransition = newCode(
		http.StatusConflict,
		"invalid_transition",
		"The status cannot change in this way.",
	)
	codeKeyNotActive = newCode(
		http.StatusConflict,
		"key_not_active",
		"This API key was revoked or has expired, and can't be changed or rotated any more.",
	)
	codeKeyAlreadyRotated = newCode(
		http.StatusConflict,
		"key_already_rotated",
		"This API key was rotated already. Rotate its replacement, or revoke that first.",
	)
	codeTooManyKeys = newCode(
		http.StatusConflict,
		"too_many_keys",
		"Your account has 10 valid API keys that were not rotated, the maximum. Revoke one first.",
	)
	codeLastManageKey = newCode(
		http.StatusConflict,
		"last_manage_key",
		"No other API key may manage keys from your address for 7 days, or for as long as this one. Rotate this one, "+
			"or give another one the scope manage first.",
	)
	codeWouldLockOut = newCode(
		http.StatusConflict,
		"would_lock_out",
		"allowedAddresses does not contain the address of this request. Send confirmLockout: true if that is right.",
	)
	codeKeyAlreadyIssued = newCode(
		http.StatusConflict,
		"key_already_issued",
		"A request with this Idempotency-Key has issued an API key. Nobody can show it again.",
	)
	codeIdempotencyInProgress = newCode(
		http.StatusConflict,
		"idempotency_in_progress",
		"A request with this Idempotency-Key is still in progress. Retry in 1 second.",
	)
	codeEndpointRemoved = newCode(http.StatusGone, "endpoint_removed", "This operation has been removed.")

	codePreconditionFailed = newCode(
		http.StatusPreconditionFailed,
		"precondition_failed",
		"If-Match does not name the current ETag: this has changed since you read it. Read it again, then send the "+
			"change with its new ETag if it is still right.",
	)

	codeBodyTooLarge = newCode(
		http.StatusRequestEntityTooLarge,
		"body_too_large",
		"The body must be at most 1 MiB (1048576 bytes).",
	)
	codeURITooLong = newCode(
		http.StatusRequestURITooLong,
		"uri_too_long",
		"The path and query must be at most 8 KiB (8192 bytes) together.",
	)
	codeUnsupportedMediaType = newCode(
		http.StatusUnsupportedMediaType,
		"unsupported_media_type",
		"Content-Type must be application/json.",
	)
	codeIdempotencyKeyReused = newCode(
		http.StatusUnprocessableEntity,
		"idempotency_key_reused",
		"This Idempotency-Key was used with another body in the last 24 hours. Use a new key for each new request.",
	)

	codeRateLimitExceeded = newCode(
		http.StatusTooManyRequests,
		"rate_limit_exceeded",
		"The limit of requests per minute is exceeded.",
	)
	codeDailyQuotaExceeded = newCode(
		http.StatusTooManyRequests,
		"daily_quota_exceeded",
		"The limit of requests per day is exceeded.",
	)
	codeKeyBanned = newCode(http.StatusTooManyRequests, "key_banned", "This API key is temporarily banned.")

	codeInternalError = newCode(
		http.StatusInternalServerError,
		"internal_error",
		"Something went wrong on our side. The request was not counted. If it fails again, contact support with the "+
			"X-Request-Id.",
	)
	codeUnavailable = newCode(
		http.StatusServiceUnavailable,
		"unavailable",
		"The service is temporarily unavailable. The request has not taken effect and will not. It was not counted. "+
			"Retry after the seconds in Retry-After.",
	)
	// codeOutcomeUnknown is for writes alone. Any other 503 says that nothing was changed, and
	// nothing will be.
	codeOutcomeUnknown = newCode(
		http.StatusServiceUnavailable,
		"outcome_unknown",
		"The request may have taken effect, or may still. It was not counted. A POST can be repeated safely with "+
			"the same Idempotency-Key; read the item before you repeat a PATCH.",
	)
)

// Error is an error response. The message is for the customer. The cause is for the operator, and
// is only logged.
type Error struct {
	code    *errorCode
	message string
	cause   error
	// reason is for support: see usage.FailedRequest.
	reason string
	// challenge is the WWW-Authenticate of a 401, "" for that of the code.
	challenge string
	// body is the response if it was made before, nil if it was not.
	body []byte
	// retrySeconds is the value of Retry-After, 0 for no such header.
	retrySeconds int64
}

// err returns an error with the code's own message.
func (c *errorCode) err() *Error { return c.withMessage(c.message) }

// withMessage returns an error whose message names the field and what is wrong with it.
func (c *errorCode) withMessage(message string) *Error { return &Error{code: c, message: message} }

// withCause returns an error with the code's own message, and a cause that only the log shows.
func (c *errorCode) withCause(cause error) *Error {
	return &Error{code: c, message: c.message, cause: cause}
}

// retryAfter sets Retry-After.
func (e *Error) retryAfter(seconds int64) *Error {
	e.retrySeconds = seconds
	return e
}

// Error returns the code and the cause, for the operator.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.code.name + ": " + e.cause.Error()
	}
	return e.code.name
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// toError maps an error of the layers below to an error response.
func toError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if t, ok := errors.AsType[*catalog.TransitionError](err); ok {
		return codeInvalidTransition.withMessage(t.Error() + ".")
	}
	if b, ok := errors.AsType[*jsonbody.SyntaxError](err); ok {
		return codeInvalidJSON.withMessage(b.Message)
	}
	if b, ok := errors.AsType[*jsonbody.ValidationError](err); ok {
		return codeValidationFailed.withMessage(b.Message)
	}
	if i, ok := errors.AsType[*keys.AlreadyIssuedError](err); ok {
		return codeKeyAlreadyIssued.withMessage(
			"A request with this Idempotency-Key has issued the API key " + i.ID +
				". Nobody can show it again: rotate or revoke it.",
		)
	}
	if r, ok := errors.AsType[*keys.AlreadyRotatedError](err); ok {
		return codeKeyAlreadyRotated.withMessage(
			"This API key was rotated already: " + r.ID + " replaces it. Rotate that one, or revoke it first.",
		)
	}
	for _, known := range knownErrors {
		if errors.Is(err, known.error) {
			return known.code.err()
		}
	}
	switch {
	case errors.Is(err, catalog.ErrIdempotencyInProgress):
		return codeIdempotencyInProgress.err().retryAfter(1)
	case errors.Is(err, keys.ErrAsker):
		return endedKey(err)
	case errors.Is(err, catalog.ErrManyReads):
		e := codeRateLimitExceeded.retryIn(
			[]byte("Your account reads its failed requests, or reads or changes its keys, "+
				"as often as it may at the same time."),
			1,
		)
		e.reason = usage.Uncounted
		return e
	case errors.Is(err, catalog.ErrUnavailable),
		errors.Is(err, keys.ErrUnavailable),
		errors.Is(err, usage.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		// The next request learns until when: the directory knows it by then.
		errors.Is(err, keys.ErrAskerBanned):
		return codeUnavailable.withCause(err).retryAfter(1)
	}
	return codeInternalError.withCause(err)
}

// knownErrors are errors of the layers below whose code says all.
var knownErrors = []struct {
	error
	code *errorCode
}{
	{
		catalog.ErrPetNotFound,
		codePetNotFound,
	},
	{catalog.ErrOrderNotFound, codeOrderNotFound},
	{catalog.ErrPetNotAvailable, codePetNotAvailable},
	{
		catalog.ErrPreconditionFailed,
		codePreconditionFailed,
	},
	{catalog.ErrIdempotencyKeyReused, codeIdempotencyKeyReused},
	{
		usage.ErrFailedNotFound,
		codeRequestNotFound,
	},
	{keys.ErrKeyNotFound, codeKeyNotFound},
	{keys.ErrKeyChanged, codePreconditionFailed},
	{keys.ErrKeyInactive, codeKeyNotActive},
	{
		keys.ErrTooManyKeys,
		codeTooManyKeys,
	},
	{keys.ErrLastManageKey, codeLastManageKey},
	{keys.ErrAskerScope, codeInsufficientScope},
}

// errorBody returns the contract's Error: the code, the message, the status.
func errorBody(c *errorCode, message string) []byte {
	b := append(make([]byte, 0, 64+len(c.name)+len(message)), `{"code":"`...)
	b = append(b, c.name...)
	b = append(b, `","message":`...)
	// Invalid UTF-8 is replaced, which the error reports.
	b, _ = jsontext.AppendQuote(b, message)
	b = append(b, `,"status":`...)
	return append(strconv.AppendInt(b, int64(c.status), 10), '}', '\n')
}
