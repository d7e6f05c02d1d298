package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
)

// trueValue is the value of Idempotent-Replayed.
var trueValue = []string{"true"}

// creation is how a POST creates a T from a New.
type creation[New, T any] struct {
	decode func(data []byte, strict bool) (New, error)
	create func(ctx context.Context, tenantID int64, n New) (T, error)
	// once is create for a request with an Idempotency-Key.
	once func(ctx context.Context, tenantID int64, o catalog.Once[New, T]) (catalog.Answered, error)
	// location returns the address of the created item.
	location func(*T) string
}

// respond responds to a POST. With an Idempotency-Key the item is created once, and a repeated
// request gets the same response.
//
// Only successes are stored, so that a failed request can be corrected and sent with the same key.
func (c creation[New, T]) respond(a *api, x *exchange) error {
	data, strict, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(x.Request.Header)
	if err != nil {
		return err
	}
	asked, err := c.decode(data, strict)
	if err != nil {
		return err
	}
	answered, err := c.answer(x, key, asked)
	if err != nil {
		return err
	}
	x.set("Location", answered.Location)
	x.set("ETag", itemTag(answered.Body))
	if answered.Replayed {
		x.headers.Header["Idempotent-Replayed"] = trueValue
	}
	x.write(answered.Status, answered.Body)
	return nil
}

// answer creates the item. key is empty for none.
func (c creation[New, T]) answer(x *exchange, key string, asked New) (catalog.Answered, error) {
	answer := func(created *T) (catalog.Answer, error) {
		body, err := jsonbody.Marshal(created)
		return catalog.Answer{Status: http.StatusCreated, Location: c.location(created), Body: body}, err
	}
	ctx, tenantID := x.Request.Context(), x.Caller.Tenant.ID
	if key == "" {
		created, err := c.create(ctx, tenantID, asked)
		if err != nil {
			return catalog.Answered{}, err
		}
		a, err := answer(&created)
		return catalog.Answered{Answer: a}, err
	}
	fingerprint, err := fingerprint(asked)
	if err != nil {
		return catalog.Answered{}, err
	}
	r := catalog.Idempotency{
		Method:      x.Request.Method,
		Path:        x.Request.URL.Path,
		Key:         key,
		Fingerprint: fingerprint,
		At:          x.asked.Now,
	}
	return c.once(ctx, tenantID, catalog.Once[New, T]{Request: r, New: asked, Answer: answer})
}

// once lets what is asked take effect once for an Idempotency-Key. It returns nil if there is none.
func (x *exchange) once(key string, asked any) (*catalog.Idempotency, error) {
	if key == "" {
		return nil, nil
	}
	of, err := fingerprint(asked)
	return &catalog.Idempotency{
		Method: x.Request.Method, Path: x.Request.URL.Path, Key: key, Fingerprint: of, At: x.asked.Now,
	}, err
}

// fingerprint identifies a request by what it asks for. How it is written does not matter: the
// order of members, 1 or 1.0, a default given or left out.
func fingerprint(asked any) (digest [sha256.Size]byte, err error) {
	canonical, err := json.Marshal(asked)
	if err != nil {
		return digest, fmt.Errorf("fingerprint: %w", err)
	}
	return sha256.Sum256(canonical), nil
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
		return "", problem.IdempotencyKeyInvalid.Err()
	}
	return "", problem.IdempotencyKeyInvalid.WithMessage("Idempotency-Key must be given only once.")
}
