package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"petstore.example/internal/catalog"
)

// maxIdempotencyKey is the longest key, in characters.
const maxIdempotencyKey = 255

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
		body, err := encodeJSON(shown)
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

// idempotencyKey reads Idempotency-Key, empty when there is none: 1 to 255 visible ASCII characters, bare or as a string of
// structured fields (RFC 9651, section 3.3.3, draft-ietf-httpapi-idempotency-key-header-07), which both are the same key.
func idempotencyKey(h http.Header) (string, error) {
	values := h["Idempotency-Key"]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		if key, ok := parseIdempotencyKey(values[0]); ok {
			return key, nil
		}
		return "", codeIdempotencyKeyInvalid.err()
	}
	return "", codeIdempotencyKeyInvalid.withMessage("Idempotency-Key must be given only once.")
}

func parseIdempotencyKey(value string) (key string, ok bool) {
	key = strings.Trim(value, " \t")
	if strings.HasPrefix(key, `"`) {
		if key, ok = parseString(key); !ok {
			return "", false
		}
	}
	if len(key) == 0 || len(key) > maxIdempotencyKey {
		return "", false
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return "", false
		}
	}
	return key, true
}

// parseString reads a string of structured fields, without parameters. Its characters are not looked at, but for the
// backslash, which stands before a quote or another one only.
func parseString(s string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return b.String(), i == len(s)-1
		}
		if c == '\\' {
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			c = s[i]
		}
		b.WriteByte(c)
	}
	return "", false
}
