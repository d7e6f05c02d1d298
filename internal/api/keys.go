package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// KeyStore has the keys of tenants, for themselves. The asker is the digest of the key that asks,
// by which the store judges anew: it returns keys.ErrAsker if that may not.
type KeyStore interface {
	// ListKeys returns keys, the newest first.
	ListKeys(ctx context.Context, tenantID int64, asker keys.Digest, q keys.OwnQuery) ([]keys.Own, error)
	// ChangeKey makes a change and returns the key: of a rotation, the new one. With once, a
	// request is served once: then it returns a keys.AlreadyIssuedError, or an error of
	// catalog.OnceStore. It also returns the errors of a tenant's own changes.
	ChangeKey(
		ctx context.Context,
		tenantID int64,
		asker keys.Digest,
		c keys.OwnChange,
		once *catalog.Idempotency,
	) (keys.Own, error)
}

// ownKey is a key in responses. Key, its plaintext, is in the response to the request alone that
// made it.
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

func ownKeyOf(k keys.Own, now time.Time) ownKey {
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

// asker is the digest of the key that the request has. It is that of a caller.
func (a *api) asker(x *exchange) keys.Digest {
	token, _ := a.credentialOf(x)
	return token.Digest()
}

// listKeys is GET /v1/keys, beta.
func listKeys(a *api, x *exchange) error {
	if err := a.takeKeyRead(x); err != nil {
		return err
	}
	var q keys.OwnQuery
	r, err := parseListRequest(x, listParams, func(text string) (micros int64, ok bool) {
		micros, q.After, ok = parseKeyCursor(text)
		q.AfterAt = time.UnixMicro(micros)
		return micros, ok
	}, parseKeyStatus, keyStatuses)
	if err != nil {
		return err
	}
	// One more tells whether another page follows.
	q.Status, q.At, q.Limit = r.status, x.now, r.pageSize+1
	found, err := a.Keys.ListKeys(x.Request.Context(), x.caller.Tenant.ID, a.asker(x), q)
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
		rows[i] = ownKeyOf(k, x.now)
	}
	p, err := newListPage(&r.listQuery, a.keysURL, rows, next)
	if err != nil {
		return err
	}
	x.writePage(p, x.form(p))
	return nil
}

// keyCursor is the place of a key in the list, which stays when the key goes: when it was issued, in
// microseconds, as other cursors have it, and the ID without its prefix.
func keyCursor(k keys.Own) string {
	return httpfield.FormatCursor(k.CreatedAt.UnixMicro()) + strings.TrimPrefix(k.ID, keyPrefix)
}

// parseKeyCursor returns the microseconds and the ID of a cursor.
func parseKeyCursor(text string) (micros int64, id string, ok bool) {
	at := min(len(text), len(httpfield.FormatCursor(0)))
	id = keyPrefix + text[at:]
	micros, ok = httpfield.ParseCursor(text[:at])
	return micros, id, ok && keys.IsID(id)
}

const keyPrefix = "key_"

// self stands in a path for the key that the request has.
const self = "self"

// keyID is the ID of the key in the path.
func (x *exchange) keyID() string {
	if id := x.Param("keyId"); id != self {
		return id
	}
	return x.caller.KeyID
}

// getKey is GET /v1/keys/{keyId}, beta.
func getKey(a *api, x *exchange) error {
	if err := a.takeKeyRead(x); err != nil {
		return err
	}
	k, err := a.findKey(x)
	if err != nil {
		return err
	}
	return x.writeKey(http.StatusOK, k, "")
}

// findKey returns the key in the path, or the error of an ID that is unknown, of another tenant or
// none.
func (a *api) findKey(x *exchange) (keys.Own, error) {
	q := keys.OwnQuery{ID: x.keyID(), At: x.now, Limit: 1}
	if q.ID != x.caller.KeyID && !keys.IsID(q.ID) {
		return keys.Own{}, keys.ErrKeyNotFound
	}
	found, err := a.Keys.ListKeys(x.Request.Context(), x.caller.Tenant.ID, a.asker(x), q)
	if err == nil && len(found) == 0 {
		err = keys.ErrKeyNotFound
	}
	if err != nil {
		return keys.Own{}, err
	}
	return found[0], nil
}

// keyTag is the ETag of a key. It changes with every change of the key, and not with its use, after
// which If-Match would fail for no reason. So there is no 304.
func keyTag(k keys.Own) string { return `"` + k.Version + `"` }

// writeKey responds with a key, and with its plaintext if it was made now.
func (x *exchange) writeKey(status int, k keys.Own, plaintext string) error {
	shown := ownKeyOf(k, x.now)
	shown.Key = plaintext
	b, err := jsonbody.Encode(&shown)
	if err != nil {
		return err
	}
	defer b.Release()
	x.set("ETag", keyTag(k))
	x.write(status, b.Bytes())
	return nil
}

// createKey is POST /v1/keys, beta.
func createKey(a *api, x *exchange) error {
	data, _, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	return a.makeKey(x, func() (c keys.OwnChange, err error) {
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
	return a.makeKey(x, func() (keys.OwnChange, error) {
		c := keys.OwnChange{Action: "key.rotate", ID: x.keyID()}
		c.GracePeriod, c.Edit.ExpiresAt, err = readRotation(x, data)
		return c, err
	})
}

// makeKey makes a key as decode reads from the body, once if the request has an Idempotency-Key,
// and shows its plaintext.
func (a *api) makeKey(x *exchange, decode func() (keys.OwnChange, error)) error {
	key, err := idempotencyKey(x.Request.Header)
	if err != nil {
		return err
	}
	c, err := decode()
	if err != nil {
		return err
	}
	var once *catalog.Idempotency
	if key != "" {
		once = &catalog.Idempotency{Method: x.Request.Method, Path: x.Request.URL.Path, Key: key, At: x.now}
		if once.Fingerprint, err = fingerprint([]any{c.ID, c.Edit, c.GracePeriod}); err != nil {
			return err
		}
	}
	if c.Token, err = keys.NewToken(x.caller.Environment); err != nil {
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
	c := keys.OwnChange{Action: "key.edit", ID: x.keyID()}
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

// revokeKey is POST /v1/keys/{keyId}/revoke, beta. It is the same however often it is sent, so
// nothing is kept of an Idempotency-Key.
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
	c := keys.OwnChange{Action: "key.revoke", ID: x.keyID(), Reason: reason, Replacements: replacements}
	return a.showChanged(x, c)
}

func (a *api) showChanged(x *exchange, c keys.OwnChange) error {
	k, err := a.changeKeys(x, c, nil)
	if err != nil {
		return err
	}
	return x.writeKey(http.StatusOK, k, "")
}

// changeKeys makes a change. A 503 says whether it may have been made.
func (a *api) changeKeys(x *exchange, c keys.OwnChange, once *catalog.Idempotency) (keys.Own, error) {
	if c.ID != x.caller.KeyID && !keys.IsID(c.ID) {
		return keys.Own{}, keys.ErrKeyNotFound
	}
	c.From = a.address(x)
	k, err := a.Keys.ChangeKey(x.Request.Context(), x.caller.Tenant.ID, a.asker(x), c, once)
	switch {
	case errors.Is(err, keys.ErrManyKeysMade):
		err = manyKeysMade(x.now)
	case errors.Is(err, keys.ErrExpiryPast):
		err = &jsonbody.ValidationError{Message: expiryPast + "."}
	case errors.Is(err, keys.ErrExpiryLate):
		err = &jsonbody.ValidationError{Message: expiryLate + "."}
	case err != nil && !errors.Is(err, catalog.ErrNotMade) && !errors.Is(err, keys.ErrAskerBanned) &&
		toError(err).code == codeUnavailable:
		err = codeOutcomeUnknown.withCause(err).retryAfter(1)
	}
	return k, err
}

// manyKeysMade is the refusal of one more new key on this UTC day.
func manyKeysMade(now time.Time) error {
	about := fmt.Sprintf("Your account may make %d API keys in a UTC day.", keys.MaxMadeADay)
	e := codeRateLimitExceeded.retryIn([]byte(about), limits.RetryAfter(limits.DayReset(limits.DayAt(now)), now))
	e.reason = usage.Uncounted
	return e
}

// takeKeyChange counts a change of keys.
func (a *api) takeKeyChange(x *exchange) error {
	err := x.takeUncounted(a.KeyChanges, "changes", keys.MaxChanges, "Your API keys may be changed by ")
	x.keyChange = err == nil
	return err
}
