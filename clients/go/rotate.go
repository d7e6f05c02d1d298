package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// KeyError is the error of a call that has issued a key, or may have, and does not return it: the
// response was lost, or the new key was not stored. Nobody can show such a key again. Revoke it, or
// let the old key rotate itself again, which revokes a replacement that nobody has used.
type KeyError struct {
	// KeyID is the ID of the new key. It is empty if the client couldn't find out whether there is
	// one: list your keys.
	KeyID string
	Err   error
}

// Error describes what failed, and names the key.
func (e *KeyError) Error() string {
	if e.KeyID == "" {
		return e.Err.Error() + "; whether a key was issued is unknown: list your keys"
	}
	return fmt.Sprintf("%v; the new key is %s", e.Err, e.KeyID)
}

// Unwrap returns what failed.
func (e *KeyError) Unwrap() error { return e.Err }

// withKeyID adds to an error which key exists, if the failed call may have issued one.
func (c *Client) withKeyID(err error, find func() (id string, err error)) error {
	if err == nil || !mayHaveActed(err) {
		return err
	}
	id, failed := find()
	if id == "" && failed == nil {
		return err // It was not issued.
	}
	return &KeyError{id, err}
}

// minGracePeriod leaves the programs that have the old key time to get the new one.
const minGracePeriod = time.Hour

// RotateSelf replaces the client's own key, in every scope. It hands the new key to store, which
// must keep it where the program finds it when it starts again, and then goes on with it. If store
// fails, the client goes on with the old key, and the error is a [*KeyError].
//
// The old key keeps working for 24 hours, and the new one expires when the old one would have. Only
// a key with [ScopeManage] may choose others: RotateSelf refuses them, and a grace period below an
// hour, before it rotates the key.
func (c *Client) RotateSelf(
	ctx context.Context,
	rotation KeyRotation,
	store func(context.Context, *Key) error,
	opts ...CallOption,
) (*Key, error) {
	if store == nil {
		return nil, errors.New("petstore: a rotation needs a function that stores the new key")
	}
	if grace := rotation.GracePeriod; grace != nil && *grace < minGracePeriod {
		return nil, errors.New("petstore: the grace period must be at least an hour")
	}
	if rotation.GracePeriod != nil || rotation.ExpiresAt != nil {
		own, err := c.GetKey(ctx, SelfKey)
		if err != nil {
			return nil, err
		}
		if own.Scope != ScopeManage {
			return nil, fmt.Errorf(
				"petstore: a key with the scope %s can't choose the grace period or the expiry of its replacement",
				own.Scope,
			)
		}
	}
	issued, err := c.RotateKey(ctx, SelfKey, rotation, opts...)
	if err != nil {
		return nil, err
	}
	if err := store(ctx, issued); err != nil {
		return nil, &KeyError{issued.ID, fmt.Errorf("petstore: store the new key: %w", c.scrubKey(err, issued))}
	}
	c.keys.use(issued.Key.Reveal())
	return issued, nil
}

// scrubKey removes a new key from the error of the function that should have stored it.
func (c *Client) scrubKey(err error, issued *Key) error {
	if text := err.Error(); newKeyring(issued.Key.Reveal()).redact(text) != text {
		return errors.New(newKeyring(issued.Key.Reveal()).redact(text))
	}
	return err
}
