package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// Webhooks are what /v1/webhooks needs.
type Webhooks struct {
	Store webhooks.Customers
	// Place runs a call to the store when the tenant has fewer of them under way than it may.
	Place func(ctx context.Context, tenantID int64, call func(context.Context) error) error
	// Sealer encrypts secrets. It is nil if webhooks are off.
	Sealer *webhooks.Sealer
	Rules  *webhooks.Rules
}

// webhooksOff is the refusal of a request that needs webhooks, on a server without a key for their
// secrets.
const webhooksOff = "Webhooks are not set up on this server. Nothing was changed. Ask our support when they will be."

// placed makes a call to the store for the request's key. A 503 to a change says whether it may have
// been made.
func placed[T any](
	a *api, x *exchange, call func(ctx context.Context, by webhooks.Requester) (T, error),
) (v T, err error) {
	by := webhooks.Requester{TenantID: x.Caller.Tenant.ID, Digest: x.Token.Digest()}
	err = a.Webhooks.Place(x.Request.Context(), by.TenantID, func(ctx context.Context) (err error) {
		v, err = call(ctx, by)
		return err
	})
	switch {
	case errors.Is(err, webhooks.ErrManyPings):
		e := problem.RateLimitExceeded.RetryIn([]byte("Your account may send "+strconv.Itoa(webhooks.MaxPendingPings)+
			" pings an hour to webhooks that have answered none yet."), int64(time.Hour/time.Second))
		e.Reason = usage.Uncounted
		err = e
	case err != nil && !x.isRead():
		err = ofUnknownOutcome(err)
	}
	return v, err
}

// ofUnknownOutcome makes a 503 of a change say whether the change may have been made.
func ofUnknownOutcome(err error) error {
	if !errors.Is(err, catalog.ErrNotMade) && !errors.Is(err, keys.ErrRequesterBanned) &&
		problem.Of(err).Code == problem.Unavailable {
		return problem.OutcomeUnknown.WithCause(err).RetryAfter(1)
	}
	return err
}

// webhookID returns the ID in the path.
func (x *exchange) webhookID() (int64, error) { return x.itemID("webhookId", problem.WebhookNotFound) }

// placedOn is placed for the endpoint in the path.
func placedOn[T any](
	a *api, x *exchange, call func(ctx context.Context, by webhooks.Requester, id int64) (T, error),
) (v T, err error) {
	id, err := x.webhookID()
	if err != nil {
		return v, err
	}
	return placed(a, x, func(ctx context.Context, by webhooks.Requester) (T, error) { return call(ctx, by, id) })
}

// listWebhooks is GET /v1/webhooks, beta.
func listWebhooks(a *api, x *exchange) error {
	if err := a.gate.TakeKeyRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	found, err := placed(a, x, a.Webhooks.Store.List)
	if err != nil {
		return err
	}
	rows := make([]webhook, len(found))
	for i, e := range found {
		rows[i] = webhookOf(e)
	}
	return x.writeItem(rows)
}

// getWebhook is GET /v1/webhooks/{webhookId}, beta.
func getWebhook(a *api, x *exchange) error {
	if err := a.gate.TakeKeyRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	e, err := placedOn(a, x, a.Webhooks.Store.Get)
	if err != nil {
		return err
	}
	return x.writeWebhook(http.StatusOK, e, "")
}

// webhookTag is the ETag of an endpoint. An answered ping or a failure does not change it, because
// If-Match would then fail for no reason; so there is no 304.
func webhookTag(e webhooks.Endpoint) string { return `"` + strconv.FormatInt(e.Version, 10) + `"` }

// writeWebhook responds with an endpoint, and with its secret if that was made now.
func (x *exchange) writeWebhook(status int, e webhooks.Endpoint, secret string) error {
	shown := webhookOf(e)
	shown.Secret = secret
	x.set("ETag", webhookTag(e))
	return x.writeJSON(status, &shown)
}

func (x *exchange) writeJSON(status int, v any) error {
	b, err := jsonbody.Encode(v)
	if err != nil {
		return err
	}
	defer b.Release()
	x.write(status, b.Bytes())
	return nil
}

// newSecret makes a secret. seal encrypts it, and text is what its owner is shown.
func (a *api) newSecret() (seal webhooks.Seal, text string, err error) {
	if a.Webhooks.Sealer == nil {
		return nil, "", problem.Unavailable.WithMessage(webhooksOff).RetryAfter(int64(time.Hour / time.Second))
	}
	seal, text = a.Webhooks.Sealer.NewSecret()
	return seal, text, nil
}

// createWebhook is POST /v1/webhooks, beta.
func createWebhook(a *api, x *exchange) error {
	data, _, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(x.Request.Header)
	if err != nil {
		return err
	}
	p, err := a.readWebhook(data, true)
	if err != nil {
		return err
	}
	n := webhooks.NewEndpoint{URL: *p.URL, Events: []string{webhooks.AllEvents}}
	if p.Events != nil {
		n.Events = *p.Events
	}
	if p.Description != nil {
		n.Description = *p.Description
	}
	once, err := x.once(key, n)
	if err != nil {
		return err
	}
	seal, secret, err := a.newSecret()
	if err != nil {
		return err
	}
	e, err := placed(a, x, func(ctx context.Context, by webhooks.Requester) (webhooks.Endpoint, error) {
		return a.Webhooks.Store.Create(ctx, by, n, seal, once)
	})
	if err != nil {
		return err
	}
	x.set("Location", a.webhooksURL+"/"+strconv.FormatInt(e.ID, 10))
	return x.writeWebhook(http.StatusCreated, e, secret)
}

// changeWebhook is PATCH /v1/webhooks/{webhookId}, beta.
func changeWebhook(a *api, x *exchange) error {
	data, _, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	p, err := a.readWebhook(data, false)
	if err != nil {
		return err
	}
	version := int64(0)
	if values, given := x.Request.Header["If-Match"]; given {
		e, err := placedOn(a, x, a.Webhooks.Store.Get)
		if err == nil {
			err = matchTag(values, webhookTag(e))
		}
		if err != nil {
			return err
		}
		version = e.Version
	}
	e, err := placedOn(a, x, func(ctx context.Context, by webhooks.Requester, id int64) (webhooks.Endpoint, error) {
		return a.Webhooks.Store.Update(ctx, by, id, version, p)
	})
	if err != nil {
		return err
	}
	return x.writeWebhook(http.StatusOK, e, "")
}

// deleteWebhook is DELETE /v1/webhooks/{webhookId}, beta.
func deleteWebhook(a *api, x *exchange) error {
	_, err := placedOn(a, x, func(ctx context.Context, by webhooks.Requester, id int64) (struct{}, error) {
		return struct{}{}, a.Webhooks.Store.Delete(ctx, by, id)
	})
	if err == nil {
		x.write(http.StatusNoContent, nil)
	}
	return err
}

// rotateWebhook is POST /v1/webhooks/{webhookId}/rotate, beta. The secret that the receiver has goes
// on signing however often it is repeated, so no Idempotency-Key is stored.
func rotateWebhook(a *api, x *exchange) error {
	data, err := readOptionalBody(a.bodies, x)
	if err != nil {
		return err
	}
	if _, err := idempotencyKey(x.Request.Header); err != nil {
		return err
	}
	grace, err := readGracePeriod(data)
	if err != nil {
		return err
	}
	seal, secret, err := a.newSecret()
	if err != nil {
		return err
	}
	e, err := placedOn(a, x, func(ctx context.Context, by webhooks.Requester, id int64) (webhooks.Endpoint, error) {
		return a.Webhooks.Store.Rotate(ctx, by, id, grace, seal)
	})
	if err != nil {
		return err
	}
	return x.writeWebhook(http.StatusOK, e, secret)
}
