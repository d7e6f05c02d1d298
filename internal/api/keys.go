package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// ownKey is a key in responses. Key is the plaintext, which is only in the response to the request
// that issued the key.
type ownKey struct {
	ID               string           `json:"id"`
	Name             string           `json:"name"`
	Environment      keys.Environment `json:"environment"`
	Last4            string           `json:"last4"`
	Scope            keys.Scope       `json:"scope"`
	AllowedAddresses []string         `json:"allowedAddresses"`
	PerMinute        *int64           `json:"perMinute"`
	Status           keys.Status      `json:"status"`
	CreatedAt        time.Time        `json:"createdAt"`
	ExpiresAt        *time.Time       `json:"expiresAt"`
	LastUsedAt       *time.Time       `json:"lastUsedAt"`
	Replaces         *string          `json:"replaces"`
	ReplacedBy       *string          `json:"replacedBy"`
	IssuedBy         *string          `json:"issuedBy"`
	AlsoEnded        []string         `json:"alsoEnded,omitempty"`
	Key              string           `json:"key,omitempty"`
}

func ownKeyOf(k keys.CustomerKey, now time.Time) ownKey {
	return ownKey{
		ID:               k.ID,
		Name:             k.Name,
		Environment:      k.Environment,
		Last4:            k.Last4,
		Scope:            k.Scope,
		AllowedAddresses: append([]string{}, k.Allowed.List()...),
		PerMinute:        orNull(k.PerMinute),
		Status:           k.Status(now),
		CreatedAt:        k.CreatedAt,
		ExpiresAt:        orNull(k.ExpiresAt),
		LastUsedAt:       orNull(k.LastUsedAt),
		Replaces:         orNull(k.Replaces),
		ReplacedBy:       orNull(k.ReplacedBy),
		IssuedBy:         orNull(k.IssuedBy),
		AlsoEnded:        k.AlsoEnded,
	}
}

// orNull is nil for the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// The statuses of keys.
const keyStatuses = "active, banned, expired, revoked"

func parseKeyStatus(s string) (keys.Status, bool) {
	status := keys.Status(s)
	return status, status == keys.Active || status == keys.Banned || status == keys.Expired || status == keys.Revoked
}

// listKeys is GET /v1/keys, beta.
func listKeys(a *api, x *exchange) error {
	if err := a.gate.TakeKeyRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	var q keys.CustomerQuery
	r, err := parseListRequest(x, listParams, func(text string) (micros int64, ok bool) {
		micros, q.After, ok = parseKeyCursor(text)
		q.AfterAt = time.UnixMicro(micros)
		return micros, ok
	}, parseKeyStatus, keyStatuses)
	if err != nil {
		return err
	}
	// One more key shows whether another page follows.
	q.Status, q.At, q.Limit = r.status, x.asked.Now, r.pageSize+1
	found, err := a.Keys.ListKeys(x.Request.Context(), x.Caller.Tenant.ID, x.Token.Digest(), q)
	if err != nil {
		return err
	}
	next := ""
	if len(found) > r.pageSize {
		found = found[:r.pageSize]
		next = keyCursor(found[len(found)-1])
	}
	rows := make([]ownKey, len(found))
	for i, k := range found {
		rows[i] = ownKeyOf(k, x.asked.Now)
	}
	p, err := newListPage(&r.listQuery, a.keysURL, rows, next)
	if err != nil {
		return err
	}
	x.writePage(p, x.pageForm(p))
	return nil
}

// keyCursor is a key's place in the list. It stays valid when the key is removed. It is the key's
// time of issue, in microseconds and formatted as other cursors are, followed by its ID without the
// prefix.
func keyCursor(k keys.CustomerKey) string {
	return httpfield.FormatCursor(k.CreatedAt.UnixMicro()) + strings.TrimPrefix(k.ID, keyPrefix)
}

// parseKeyCursor returns the time of issue, in microseconds, and the ID in a cursor.
func parseKeyCursor(text string) (micros int64, id string, ok bool) {
	at := min(len(text), len(httpfield.FormatCursor(0)))
	id = keyPrefix + text[at:]
	micros, ok = httpfield.ParseCursor(text[:at])
	return micros, id, ok && keys.IsID(id)
}

const keyPrefix = "key_"

// getKey is GET /v1/keys/{keyId}, beta.
func getKey(a *api, x *exchange) error {
	if err := a.gate.TakeKeyRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	k, err := a.findKey(x)
	if err != nil {
		return err
	}
	return x.writeKey(http.StatusOK, k, "")
}

// findKey returns the key in the path. It returns an error if the ID is malformed, unknown, or that
// of another tenant's key.
func (a *api) findKey(x *exchange) (keys.CustomerKey, error) {
	q := keys.CustomerQuery{ID: x.keyID(), At: x.asked.Now, Limit: 1}
	if q.ID != x.Caller.KeyID && !keys.IsID(q.ID) {
		return keys.CustomerKey{}, keys.ErrKeyNotFound
	}
	found, err := a.Keys.ListKeys(x.Request.Context(), x.Caller.Tenant.ID, x.Token.Digest(), q)
	if err == nil && len(found) == 0 {
		err = keys.ErrKeyNotFound
	}
	if err != nil {
		return keys.CustomerKey{}, err
	}
	return found[0], nil
}

// keyTag is the ETag of a key. Every change of the key changes the tag. A use does not, because
// If-Match would then fail for no reason; so there is no 304.
func keyTag(k keys.CustomerKey) string { return `"` + k.Version + `"` }

// writeKey responds with a key, and with its plaintext if the key was issued now.
func (x *exchange) writeKey(status int, k keys.CustomerKey, plaintext string) error {
	shown := ownKeyOf(k, x.asked.Now)
	shown.Key = plaintext
	x.set("ETag", keyTag(k))
	return x.writeJSON(status, &shown)
}

// createKey is POST /v1/keys, beta.
func createKey(a *api, x *exchange) error {
	data, _, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	return a.makeKey(x, func() (c keys.CustomerChange, err error) {
		c.Action = "key.issue"
		c.Edit, err = a.readKey(x, data, true)
		return c, err
	})
}

// rotateKey is POST /v1/keys/{keyId}/rotate, beta.
func rotateKey(a *api, x *exchange) error {
	data, err := readOptionalBody(a.bodies, x)
	if err != nil {
		return err
	}
	return a.makeKey(x, func() (keys.CustomerChange, error) {
		c := keys.CustomerChange{Action: "key.rotate", ID: x.keyID()}
		c.GracePeriod, c.Edit.ExpiresAt, err = readRotation(x, data)
		return c, err
	})
}

// makeKey issues a key, once if the request has an Idempotency-Key, and responds with the
// plaintext. decode reads the body.
func (a *api) makeKey(x *exchange, decode func() (keys.CustomerChange, error)) error {
	key, err := idempotencyKey(x.Request.Header)
	if err != nil {
		return err
	}
	c, err := decode()
	if err != nil {
		return err
	}
	once, err := x.once(key, []any{c.ID, c.Edit, c.GracePeriod})
	if err != nil {
		return err
	}
	if c.Token, err = keys.NewToken(x.Caller.Environment); err != nil {
		return err
	}
	if c.NewID, err = keys.NewID(); err != nil {
		return err
	}
	if c.Action == "key.issue" {
		c.ID = c.NewID
	}
	k, err := a.changeKeys(x, c, once)
	if err != nil {
		return err
	}
	x.set("Location", a.keysURL+"/"+k.ID)
	return x.writeKey(http.StatusCreated, k, c.Token.Reveal())
}

// changeKey is PATCH /v1/keys/{keyId}, beta.
func changeKey(a *api, x *exchange) error {
	data, _, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	c := keys.CustomerChange{Action: "key.edit", ID: x.keyID()}
	if c.Edit, err = a.readKey(x, data, false); err != nil {
		return err
	}
	if values, given := x.Request.Header["If-Match"]; given {
		k, err := a.findKey(x)
		if err == nil {
			err = matchTag(values, keyTag(k))
		}
		if err != nil {
			return err
		}
		c.Version = k.Version
	}
	return a.showChanged(x, c)
}

// revokeKey is POST /v1/keys/{keyId}/revoke, beta. A repetition has no further effect, so no
// Idempotency-Key is stored.
func revokeKey(a *api, x *exchange) error {
	data, err := readOptionalBody(a.bodies, x)
	if err != nil {
		return err
	}
	if _, err := idempotencyKey(x.Request.Header); err != nil {
		return err
	}
	reason, err := readReason(data)
	if err != nil {
		return err
	}
	replacements, err := x.readReplacements()
	if err != nil {
		return err
	}
	c := keys.CustomerChange{Action: "key.revoke", ID: x.keyID(), Reason: reason, Replacements: replacements}
	return a.showChanged(x, c)
}

func (a *api) showChanged(x *exchange, c keys.CustomerChange) error {
	k, err := a.changeKeys(x, c, nil)
	if err != nil {
		return err
	}
	return x.writeKey(http.StatusOK, k, "")
}

// changeKeys makes a change. A 503 says whether the change may have been made.
func (a *api) changeKeys(x *exchange, c keys.CustomerChange, once *catalog.Idempotency) (keys.CustomerKey, error) {
	if c.ID != x.Caller.KeyID && !keys.IsID(c.ID) {
		return keys.CustomerKey{}, keys.ErrKeyNotFound
	}
	c.From = x.Address()
	k, err := a.Keys.ChangeKey(x.Request.Context(), x.Caller.Tenant.ID, x.Token.Digest(), c, once)
	switch {
	case errors.Is(err, keys.ErrManyKeysMade):
		err = manyKeysMade(x.asked.Now)
	case errors.Is(err, keys.ErrExpiryPast):
		err = &jsonbody.ValidationError{Message: expiryPast + "."}
	case errors.Is(err, keys.ErrExpiryLate):
		err = &jsonbody.ValidationError{Message: expiryLate + "."}
	case err != nil:
		err = ofUnknownOutcome(err)
	}
	return k, err
}

// manyKeysMade is the refusal of a further new key on this UTC day.
func manyKeysMade(now time.Time) error {
	about := fmt.Sprintf("Your account may make %d API keys in a UTC day.", keys.MaxMadeADay)
	e := problem.RateLimitExceeded.RetryIn([]byte(about), limits.RetryAfter(limits.DayReset(limits.DayAt(now)), now))
	e.Reason = usage.Uncounted
	return e
}
