package problem

import (
	"context"
	"errors"
	"strconv"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// Of maps an error of the layers below to an error response.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if t, ok := errors.AsType[*catalog.TransitionError](err); ok {
		return InvalidTransition.WithMessage(t.Error() + ".")
	}
	if b, ok := errors.AsType[*jsonbody.SyntaxError](err); ok {
		return InvalidJSON.WithMessage(b.Message)
	}
	if b, ok := errors.AsType[*jsonbody.ValidationError](err); ok {
		return ValidationFailed.WithMessage(b.Message)
	}
	if i, ok := errors.AsType[*keys.AlreadyIssuedError](err); ok {
		return KeyAlreadyIssued.WithMessage(
			"A request with this Idempotency-Key has issued the API key " + i.ID +
				". Nobody can show it again: rotate or revoke it.",
		)
	}
	if r, ok := errors.AsType[*keys.AlreadyRotatedError](err); ok {
		return KeyAlreadyRotated.WithMessage(
			"This API key was rotated already: " + r.ID + " replaces it. Rotate that one, or revoke it first.",
		)
	}
	if w, ok := errors.AsType[*webhooks.AlreadyAddedError](err); ok {
		return WebhookAlreadyCreated.WithMessage(
			"A request with this Idempotency-Key has added the webhook " + strconv.FormatInt(w.ID, 10) +
				". Nobody can show its secret again: rotate it.",
		)
	}
	for _, known := range knownErrors {
		if errors.Is(err, known.error) {
			return known.code.Err()
		}
	}
	switch {
	case errors.Is(err, catalog.ErrIdempotencyInProgress):
		return IdempotencyInProgress.Err().RetryAfter(1)
	case errors.Is(err, keys.ErrRequester):
		return endedKey(err)
	case errors.Is(err, catalog.ErrManyReads):
		e := RateLimitExceeded.RetryIn(
			[]byte("Your account reads its failed requests, or reads or changes its keys or webhooks, "+
				"as often as it may at the same time."),
			1,
		)
		e.Reason = usage.Uncounted
		return e
	case errors.Is(err, catalog.ErrUnavailable),
		errors.Is(err, keys.ErrUnavailable),
		errors.Is(err, usage.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		// When the next request comes, the directory knows the end of the ban.
		errors.Is(err, keys.ErrRequesterBanned):
		return Unavailable.WithCause(err).RetryAfter(1)
	}
	return InternalError.WithCause(err)
}

// knownErrors are the errors of the layers below for which a code is enough.
var knownErrors = []struct {
	error
	code *Code
}{
	{
		catalog.ErrPetNotFound,
		PetNotFound,
	},
	{catalog.ErrOrderNotFound, OrderNotFound},
	{catalog.ErrPetNotAvailable, PetNotAvailable},
	{
		catalog.ErrPreconditionFailed,
		PreconditionFailed,
	},
	{catalog.ErrIdempotencyKeyReused, IdempotencyKeyReused},
	{
		usage.ErrFailedNotFound,
		RequestNotFound,
	},
	{keys.ErrKeyNotFound, KeyNotFound},
	{keys.ErrKeyChanged, PreconditionFailed},
	{keys.ErrKeyInactive, KeyNotActive},
	{
		keys.ErrTooManyKeys,
		TooManyKeys,
	},
	{keys.ErrLastManageKey, LastManageKey},
	{keys.ErrRequesterScope, InsufficientScope},
	{webhooks.ErrNotFound, WebhookNotFound},
	{webhooks.ErrDeliveryNotFound, DeliveryNotFound},
	{webhooks.ErrChanged, PreconditionFailed},
	{webhooks.ErrTooMany, TooManyWebhooks},
	{webhooks.ErrDisabled, WebhookDisabled},
}

// endedKey returns the refusal of a key that the directory still accepted, but the store no longer.
// If there is such a key, err is also a keys.StatusError.
func endedKey(err error) *Error {
	e, status := InvalidAPIKey.Err(), keys.StatusError("")
	if errors.As(err, &status) {
		about := Descriptions[keys.Status(status)]
		e = InvalidAPIKey.WithMessage(about + ".")
		e.Reason, e.Challenge = string(status), ChallengeInvalid+`, error_description="`+about+`"`
	}
	return e
}
