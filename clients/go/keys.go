package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"time"
)

// KeyScope says what a key may do.
type KeyScope string

// The scopes. Each includes those before it.
const (
	ScopeRead   KeyScope = "read"
	ScopeWrite  KeyScope = "write"
	ScopeManage KeyScope = "manage"

	SelfKey = "self" // stands for the ID of the client's own key
)

// Key is an API key of your account. The operations of keys are in beta and may change with 30
// days' notice. They need a key with [ScopeManage], except those on [SelfKey]. They are not
// counted, and never wait for their turn.
type Key struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	Environment      string     `json:"environment"` // live or test
	Last4            string     `json:"last4"`
	Scope            KeyScope   `json:"scope"`
	AllowedAddresses []string   `json:"allowedAddresses"` // none for any
	PerMinute        *int64     `json:"perMinute"`        // the key's own limit, nil for none
	Status           string     `json:"status"`           // active, banned, expired or revoked
	CreatedAt        time.Time  `json:"createdAt"`
	ExpiresAt        *time.Time `json:"expiresAt"`
	LastUsedAt       *time.Time `json:"lastUsedAt"`
	Replaces         *string    `json:"replaces"`   // the ID of the key that it replaced in a rotation
	ReplacedBy       *string    `json:"replacedBy"` // the ID of the key that replaced it
	IssuedBy         *string    `json:"issuedBy"`   // the ID of a key, account or support
	// AlsoEnded are the IDs of the other keys that ended with the call that returned this one.
	AlsoEnded []string `json:"alsoEnded,omitempty"`
	// Key is the key itself, in the result of the call that issued it.
	Key Secret `json:"key,omitzero"`
}

// Secret is a key that prints itself redacted. It holds a function, so that no way of printing
// shows the key.
type Secret struct{ reveal func() string }

// Reveal returns the key, "" for none.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Format implements [fmt.Formatter]: it redacts, for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	s.reveal = func() string { return text }
	return err
}

// NewKey is a key to issue. Its default scope is [ScopeWrite]. If AllowedAddresses lack the
// client's own address, it needs ConfirmLockout.
type NewKey struct {
	Name             string    `json:"name"`
	Scope            KeyScope  `json:"scope,omitempty"`
	ExpiresAt        time.Time `json:"expiresAt,omitzero"`
	PerMinute        int64     `json:"perMinute,omitempty"`
	AllowedAddresses []string  `json:"allowedAddresses,omitempty"`
	ConfirmLockout   bool      `json:"confirmLockout,omitempty"`
}

// KeyPatch is a change to a key. A nil field leaves the key's value unchanged, and a zero value
// removes it.
type KeyPatch struct {
	Name             *string
	Scope            *KeyScope
	ExpiresAt        *time.Time
	PerMinute        *int64
	AllowedAddresses *[]string
	ConfirmLockout   *bool
}

// MarshalJSON implements [json.Marshaler].
func (p KeyPatch) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	for name, value := range map[string]any{
		"name": p.Name, "scope": p.Scope, "expiresAt": p.ExpiresAt, "perMinute": p.PerMinute,
		"allowedAddresses": p.AllowedAddresses,
		"confirmLockout":   p.ConfirmLockout,
	} {
		if v := reflect.ValueOf(value); v.IsNil() {
			continue
		} else if members[name] = value; v.Elem().IsZero() {
			members[name] = nil
		}
	}
	return json.Marshal(members)
}

// ListKeysParams selects the keys to list.
type ListKeysParams struct {
	// Limit is the size of a page, 1 to 100, or 0 for 20. Status selects keys with that status, if
	// not empty. Cursor is the NextCursor of a page, if not empty.
	Limit          int
	Status, Cursor string
}

// KeyPage is one page of a list.
type KeyPage struct {
	Keys       []Key  // the newest first
	NextCursor string // empty on the last page
	Rate       Rate
}

// ListKeys returns one page of the keys of your account.
func (c *Client) ListKeys(ctx context.Context, params ListKeysParams, opts ...CallOption) (*KeyPage, error) {
	query := listQuery(map[string]any{"limit": params.Limit, "status": params.Status, "cursor": params.Cursor})
	var list []Key
	a, err := c.do(ctx, &call{method: http.MethodGet, path: "keys", query: query, unmetered: true}, nil, &list, opts)
	if err != nil {
		return nil, err
	}
	return &KeyPage{Keys: list, NextCursor: nextCursor(a.header), Rate: rateOf(a.header)}, nil
}

// Keys iterates over the keys of your account from params.Cursor to the end, page by page, as
// [Client.Pets] does over animals.
func (c *Client) Keys(ctx context.Context, params ListKeysParams, opts ...CallOption) iter.Seq2[Key, error] {
	params.Limit = cmp.Or(params.Limit, maxPageSize)
	return paginate(params.Cursor, func(cursor string) ([]Key, string, error) {
		params.Cursor = cursor
		page, err := c.ListKeys(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Keys, page.NextCursor, nil
	})
}

// GetKey returns one key. [SelfKey] is the client's own, for which any scope is enough. It fails
// with [CodeKeyNotFound].
func (c *Client) GetKey(ctx context.Context, keyID string, opts ...CallOption) (*Key, error) {
	return c.keyCall(ctx, http.MethodGet, keyPath(keyID), nil, opts)
}

// CreateKey issues a key, and returns it in [Key.Key]. If the response with it was lost, nobody can
// show the key: the error is a [*KeyError]. CreateKey also fails with [CodeTooManyKeys] or
// [CodeWouldLockOut].
func (c *Client) CreateKey(ctx context.Context, key NewKey, opts ...CallOption) (*Key, error) {
	began := time.Now()
	issued, err := c.keyCall(ctx, http.MethodPost, "keys", key, opts)
	return issued, c.withKeyID(err, func() (string, error) {
		var seen Response
		page, err := c.ListKeys(ctx, ListKeysParams{Limit: 20}, CaptureResponse(&seen))
		if err != nil {
			return "", err
		}
		// Times of keys are the service's.
		since := serviceTime(seen.Header, time.Now()).Add(-time.Since(began) - time.Second)
		for _, k := range page.Keys {
			if k.Name == key.Name && !k.CreatedAt.Before(since) {
				return k.ID, nil
			}
		}
		return "", nil
	})
}

// UpdateKey changes a key and returns it. It fails with [CodeKeyNotFound], [CodeKeyNotActive],
// [CodeLastManageKey] or [CodeWouldLockOut], and with [IfMatch] as [Client.UpdatePet] does.
func (c *Client) UpdateKey(ctx context.Context, keyID string, patch KeyPatch, opts ...CallOption) (*Key, error) {
	return c.keyCall(ctx, http.MethodPatch, keyPath(keyID), patch, opts)
}

// KeyRotation says how to rotate a key.
type KeyRotation struct {
	// GracePeriod is how long the old key keeps working: whole seconds, up to 7 days, nil for 24
	// hours.
	GracePeriod *time.Duration
	// ExpiresAt is when the new key expires: the zero time for never, nil for the expiry of the old
	// key.
	ExpiresAt *time.Time
}

// MarshalJSON implements [json.Marshaler].
func (r KeyRotation) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	if r.GracePeriod != nil {
		members["gracePeriod"] = int64(*r.GracePeriod / time.Second)
	}
	if r.ExpiresAt != nil {
		members["expiresAt"] = r.ExpiresAt
		if r.ExpiresAt.IsZero() {
			members["expiresAt"] = nil
		}
	}
	return json.Marshal(members)
}

// RotateKey issues a replacement for a key, and returns it. For the client's own key there is
// [Client.RotateSelf]. RotateKey fails as [Client.CreateKey] does, or with [CodeKeyNotFound],
// [CodeKeyNotActive] or [CodeKeyAlreadyRotated].
func (c *Client) RotateKey(
	ctx context.Context,
	keyID string,
	rotation KeyRotation,
	opts ...CallOption,
) (*Key, error) {
	issued, err := c.keyCall(ctx, http.MethodPost, keyPath(keyID)+"/rotate", rotation, opts)
	return issued, c.withKeyID(err, func() (string, error) {
		old, err := c.GetKey(ctx, keyID)
		if err != nil || old.ReplacedBy == nil {
			return "", err
		}
		return *old.ReplacedBy, nil
	})
}

// KeyRevocation says how to revoke a key. The reason may be empty.
type KeyRevocation struct {
	Reason string `json:"reason,omitempty"`
	// Replacements also ends the keys that the key has made by rotating itself, and in turn those
	// that they have made.
	Replacements bool `json:"-"`
}

// RevokeKey ends a key for ever. [SelfKey] is the client's own, for which any scope is enough. It
// fails with [CodeKeyNotFound] or [CodeLastManageKey].
func (c *Client) RevokeKey(
	ctx context.Context,
	keyID string,
	revocation KeyRevocation,
	opts ...CallOption,
) (*Key, error) {
	asked := &call{method: http.MethodPost, path: keyPath(keyID) + "/revoke", unmetered: true}
	if revocation.Replacements {
		asked.query = url.Values{"replacements": {"true"}}
	}
	return fetch[Key](ctx, c, asked, revocation, opts)
}

func keyPath(id string) string { return "keys/" + url.PathEscape(id) }

func (c *Client) keyCall(ctx context.Context, method, path string, in any, opts []CallOption) (*Key, error) {
	return fetch[Key](ctx, c, &call{method: method, path: path, unmetered: true}, in, opts)
}
