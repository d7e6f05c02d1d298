package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// trueValue is the value of Idempotent-Replayed.
var trueValue = []string{"true"}

// create handles a POST. It decodes the body and calls add, which returns the created item for the response and its
// address. With an Idempotency-Key that happens once, and the same request gets the same response again.
//
// Only successes are stored, so that a failed request can be corrected and sent with the same key.
func create[N any](
	a *api, x *exchange, decode func(data []byte, strict bool) (N, error),
	add func(context.Context, catalog.Creator, N) (shown any, location string, err error),
) error {
	data, strict, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(x.Request.Header)
	if err != nil {
		return err
	}
	asked, err := decode(data, strict)
	if err != nil {
		return err
	}
	once, err := x.once(key, asked)
	if err != nil {
		return err
	}
	work := func(ctx context.Context, c catalog.Creator) (catalog.Answer, error) {
		shown, location, err := add(ctx, c, asked)
		if err != nil {
			return catalog.Answer{}, err
		}
		body, err := jsonbody.Marshal(shown)
		return catalog.Answer{Status: http.StatusCreated, Location: location, Body: body}, err
	}
	answer, replayed, err := a.Requests.Once(x.Request.Context(), x.caller.Tenant.ID, once, work)
	if err != nil {
		return err
	}
	x.set("Location", answer.Location)
	x.set("ETag", itemTag(answer.Body))
	if replayed {
		x.headers.Header["Idempotent-Replayed"] = trueValue
	}
	x.write(answer.Status, answer.Body)
	return nil
}

// once identifies a request that takes effect once; it is nil without a key. Two requests are the same if they ask for the same,
// however it is written: in any order, as 1 or 1.0, with a default left out or given.
func (x *exchange) once(key string, asked any) (*catalog.Idempotency, error) {
	if key == "" {
		return nil, nil
	}
	canonical, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("fingerprint: %w", err)
	}
	return &catalog.Idempotency{
		Method: x.Request.Method, Path: x.Request.URL.Path, Key: key, Fingerprint: sha256.Sum256(canonical), At: x.now,
	}, nil
}

// idempotencyKey returns the request's Idempotency-Key, empty if there is none.
func idempotencyKey(h http.Header) (string, error) {
	values := h["Idempotency-Key"]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		if key, ok := httpfield.ParseIdempotencyKey(values[0]); ok {
			return key, nil
		}
		return "", codeIdempotencyKeyInvalid.err()
	}
	return "", codeIdempotencyKeyInvalid.withMessage("Idempotency-Key must be given only once.")
}
