package problem

import "net/http"

// The table of error codes. docs/errors.md explains them.
var (
	MalformedRequest = newCode(
		http.StatusBadRequest,
		"malformed_request",
		"The request is not valid HTTP: in the path a % must be followed by two hexadecimal digits, and each header "+
			"must be well-formed.",
	)
	InvalidJSON = newCode(http.StatusBadRequest, "invalid_json", "The body is not valid JSON.")
	MissingBody = newCode(
		http.StatusBadRequest,
		"missing_body",
		"The request has no body. Send a JSON object.",
	)
	ValidationFailed = newCode(
		http.StatusBadRequest,
		"validation_failed",
		"A field of the body has an invalid value.",
	)
	InvalidParameter = newCode(
		http.StatusBadRequest,
		"invalid_parameter",
		"A query parameter has an invalid value.",
	)
	InvalidCursor = newCode(
		http.StatusBadRequest,
		"invalid_cursor",
		"cursor must be the value of X-Next-Cursor, unchanged.",
	)
	InvalidURL = newCode(
		http.StatusBadRequest,
		"invalid_url",
		"Events can't be sent to this URL.",
	)
	IdempotencyKeyInvalid = newCode(
		http.StatusBadRequest,
		"idempotency_key_invalid",
		"Idempotency-Key must be 1 to 255 visible ASCII characters, with or without double quotes.",
	)

	MissingAPIKey = newCode(
		http.StatusUnauthorized,
		"missing_api_key",
		"The request has no API key. Send the header Authorization: Bearer <API key>.",
	)
	InvalidAPIKey = newCode(
		http.StatusUnauthorized,
		"invalid_api_key",
		"The API key is malformed, unknown or no longer valid.",
	)

	// AddressNotAllowed is a result of identifying the caller, like a 401: it counts for the
	// address, not for the tenant.
	AddressNotAllowed = newCode(
		http.StatusForbidden,
		"address_not_allowed",
		"This API key can't be used from this address.",
	)
	InsufficientScope = newCode(
		http.StatusForbidden,
		"insufficient_scope",
		"The scope of this API key does not allow this operation.",
	)

	PetNotFound = newCode(
		http.StatusNotFound,
		"pet_not_found",
		"No animal with this ID exists in your catalogue.",
	)
	OrderNotFound = newCode(
		http.StatusNotFound,
		"order_not_found",
		"No order with this ID exists in your account.",
	)
	KeyNotFound = newCode(
		http.StatusNotFound,
		"key_not_found",
		"No API key with this ID exists in your account.",
	)
	WebhookNotFound = newCode(
		http.StatusNotFound,
		"webhook_not_found",
		"No webhook with this ID exists in your account.",
	)
	DeliveryNotFound = newCode(
		http.StatusNotFound,
		"delivery_not_found",
		"No delivery with this ID is stored for this webhook. Deliveries are stored for 7 days.",
	)
	RequestNotFound = newCode(
		http.StatusNotFound,
		"request_not_found",
		"No failed request with this ID is stored for your account. Failed requests are stored for a day, and not "+
			"all of them.",
	)
	RouteNotFound    = newCode(http.StatusNotFound, "route_not_found", "There is no such path.")
	MethodNotAllowed = newCode(
		http.StatusMethodNotAllowed,
		"method_not_allowed",
		"This path does not support this method.",
	)
	PetNotAvailable = newCode(
		http.StatusConflict,
		"pet_not_available",
		"The animal is pending or sold and cannot be ordered. Order one whose status is available.",
	)
	InvalidTransition = newCode(
		http.StatusConflict,
		"invalid_transition",
		"The status cannot change in this way.",
	)
	KeyNotActive = newCode(
		http.StatusConflict,
		"key_not_active",
		"This API key was revoked or has expired, and can't be changed or rotated any more.",
	)
	KeyAlreadyRotated = newCode(
		http.StatusConflict,
		"key_already_rotated",
		"This API key was rotated already. Rotate its replacement, or revoke that first.",
	)
	TooManyKeys = newCode(
		http.StatusConflict,
		"too_many_keys",
		"Your account has 10 valid API keys that were not rotated, the maximum. Revoke one first.",
	)
	LastManageKey = newCode(
		http.StatusConflict,
		"last_manage_key",
		"No other API key may manage keys from your address for 7 days, or for as long as this one. Rotate this one, "+
			"or give another one the scope manage first.",
	)
	WouldLockOut = newCode(
		http.StatusConflict,
		"would_lock_out",
		"allowedAddresses does not contain the address of this request. Send confirmLockout: true if that is right.",
	)
	KeyAlreadyIssued = newCode(
		http.StatusConflict,
		"key_already_issued",
		"A request with this Idempotency-Key has issued an API key. Nobody can show it again.",
	)
	TooManyWebhooks = newCode(
		http.StatusConflict,
		"too_many_webhooks",
		"Your account has 5 webhooks, the maximum. Remove one first.",
	)
	WebhookDisabled = newCode(
		http.StatusConflict,
		"webhook_disabled",
		"This webhook is disabled. Change its status to enabled first.",
	)
	WebhookAlreadyCreated = newCode(
		http.StatusConflict,
		"webhook_already_created",
		"A request with this Idempotency-Key has added a webhook. Nobody can show its secret again: rotate it.",
	)
	IdempotencyInProgress = newCode(
		http.StatusConflict,
		"idempotency_in_progress",
		"A request with this Idempotency-Key is still in progress. Retry in 1 second.",
	)
	EndpointRemoved = newCode(http.StatusGone, "endpoint_removed", "This operation has been removed.")

	PreconditionFailed = newCode(
		http.StatusPreconditionFailed,
		"precondition_failed",
		"If-Match does not name the current ETag: this has changed since you read it. Read it again, then send the "+
			"change with its new ETag if it is still right.",
	)

	BodyTooLarge = newCode(
		http.StatusRequestEntityTooLarge,
		"body_too_large",
		"The body must be at most 1 MiB (1048576 bytes).",
	)
	URITooLong = newCode(
		http.StatusRequestURITooLong,
		"uri_too_long",
		"The path and query must be at most 8 KiB (8192 bytes) together.",
	)
	UnsupportedMediaType = newCode(
		http.StatusUnsupportedMediaType,
		"unsupported_media_type",
		"Content-Type must be application/json.",
	)
	IdempotencyKeyReused = newCode(
		http.StatusUnprocessableEntity,
		"idempotency_key_reused",
		"This Idempotency-Key was used with another body in the last 24 hours. Use a new key for each new request.",
	)

	RateLimitExceeded = newCode(
		http.StatusTooManyRequests,
		"rate_limit_exceeded",
		"The limit of requests per minute is exceeded.",
	)
	DailyQuotaExceeded = newCode(
		http.StatusTooManyRequests,
		"daily_quota_exceeded",
		"The limit of requests per day is exceeded.",
	)
	MonthlyQuotaExceeded = newCode(
		http.StatusTooManyRequests,
		"monthly_quota_exceeded",
		"The requests of the month are used up.",
	)
	KeyBanned = newCode(http.StatusTooManyRequests, "key_banned", "This API key is temporarily banned.")

	InternalError = newCode(
		http.StatusInternalServerError,
		"internal_error",
		"Something went wrong on our side. The request was not counted. If it fails again, contact support with the "+
			"X-Request-Id.",
	)
	Unavailable = newCode(
		http.StatusServiceUnavailable,
		"unavailable",
		"The service is temporarily unavailable. The request has not taken effect and will not. It was not counted. "+
			"Retry after the seconds in Retry-After.",
	)
	// OutcomeUnknown is only for writes. Any other 503 says that nothing was changed, and that
	// nothing will be.
	OutcomeUnknown = newCode(
		http.StatusServiceUnavailable,
		"outcome_unknown",
		"The request may have taken effect, or may still. It was not counted. A POST can be repeated safely with "+
			"the same Idempotency-Key; read the item before you repeat a PATCH.",
	)
)
