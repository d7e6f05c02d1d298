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

// trueValue is Idempotent-Replayed's.
var trueValue = []string{"true"}

// create answers a POST: it reads the body by decode and adds what it asks for by add, which returns what the answer shows
// and the address of it. With an Idempotency-Key that happens once, and the same request gets the same answer again.
//
// Only what was added is kept, so that a request that was refused can be corrected and sent with the same key.
func create[N any](
	a *api, x *exchange, decode func(data []byte, strict bool) (N, error),
	add func(context.Context, catalog.Creator, N) (shown any, location string, err error),
) error {
	data, strict, err := readBody(x)
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
	if replayed {
		x.Writer.Header()["Idempotent-Replayed"] = trueValue
	}
	x.write(answer.Status, answer.Body)
	return nil
}

// once is the request as one that takes effect once; nil without a key. Requests are the same when they ask for the same,
// however that is written: in what order, as 1 or 1.0, with a status left out or given as what it is then.
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
