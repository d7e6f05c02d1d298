package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
)

// MaxGracePeriod is the longest time for which a rotated key may keep working.
const MaxGracePeriod = 7 * 24 * time.Hour

// Errors of Rotate.
var (
	// ErrGracePeriod: the grace period is negative or longer than MaxGracePeriod.
	ErrGracePeriod = errors.New("the grace period must be from 0 to 7 days")
	// ErrKeyExpired: the key has expired.
	ErrKeyExpired = errors.New("the key has expired")
)

// Rotation asks for a replacement of a key.
type Rotation struct {
	// GracePeriod is how long the old key keeps working. If that key expires earlier, its expiry
	// stays.
	GracePeriod time.Duration
	// ExpiresAt is the expiry of the new key: zero for never, nil for the expiry of the old key.
	ExpiresAt *time.Time
}

// Rotated has both keys of a rotation as they are afterwards.
type Rotated struct {
	Old, New Key
	// Ended are the IDs of keys whose grace period the rotation ended, because there were more than
	// MaxInGrace.
	Ended []string
}

// AlreadyRotatedError means that the key already has a replacement, neither revoked nor expired,
// with that ID.
type AlreadyRotatedError struct{ ID string }

// Error implements error.
func (e *AlreadyRotatedError) Error() string {
	return "the key was rotated already: key " + e.ID + " replaces it"
}

// Replacement makes the ID and the token of a replacement for a key of that environment.
type Replacement func(Environment) (id string, token Token, err error)

// Rotate issues a key with the tenant, name, environment, own limit, scope and addresses of another
// key, and lets the other one expire. It returns ErrGracePeriod, ErrExpiryPast, or an error of
// ServiceStore.Rotate.
func (s *Service) Rotate(
	ctx context.Context,
	by audit.By,
	id string,
	r Rotation,
) (rotated Rotated, token Token, err error) {
	now := s.now()
	if err = r.check(now); err != nil {
		return Rotated{}, Token{}, fmt.Errorf("rotate key: %w", err)
	}
	rotated, err = s.Store.Rotate(ctx, by, id, now, r, func(e Environment) (id string, _ Token, err error) {
		if id, err = NewID(); err == nil {
			token, err = NewToken(e)
		}
		return id, token, err
	})
	if err != nil {
		return Rotated{}, Token{}, fmt.Errorf("rotate key: %w", err)
	}
	return rotated, token, nil
}

func (r Rotation) check(now time.Time) error {
	switch {
	case r.GracePeriod < 0 || r.GracePeriod > MaxGracePeriod:
		return ErrGracePeriod
	case r.ExpiresAt != nil && !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now):
		return ErrExpiryPast
	}
	return nil
}
