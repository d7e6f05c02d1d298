package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
)

// MaxGracePeriod is the longest time for which a rotated key may go on working.
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
	// GracePeriod is how long the old key goes on working. If it expires earlier, that expiry
	// stays.
	GracePeriod time.Duration
	// ExpiresAt is the expiry of the new key: zero for never, nil for the expiry of the old key.
	ExpiresAt *time.Time
}

// Rotated are both keys of a rotation as they are afterwards.
type Rotated struct {
	Old, New Key
	// Ended are the IDs of keys whose grace period ended with it: those beyond MaxInGrace.
	Ended []string
}

// AlreadyRotatedError means that a key has a replacement, with that ID, which is neither revoked
// nor expired.
type AlreadyRotatedError struct{ ID string }

// Error implements error.
func (e *AlreadyRotatedError) Error() string {
	return "the key was rotated already: key " + e.ID + " replaces it"
}

// Replacement makes the key, and its digest, that replaces old. The store has locked old.
type Replacement func(old Key) (Key, Digest, error)

// Rotate issues a key with the tenant, name, environment, own limit, scope and addresses of another
// key and lets that one expire. It returns ErrGracePeriod, ErrExpiryPast, or an error of
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
	rotated, err = s.Store.Rotate(ctx, by, id, now, now.Add(r.GracePeriod), func(old Key) (Key, Digest, error) {
		if token, err = NewToken(old.Environment); err != nil {
			return Key{}, Digest{}, err
		}
		issued, err := old.replacement(token, now)
		if r.ExpiresAt != nil {
			issued.ExpiresAt = *r.ExpiresAt
		}
		return issued, token.Digest(), err
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

// replacement returns the key that replaces k.
func (k Key) replacement(token Token, now time.Time) (Key, error) {
	id, err := NewID()
	return Key{
		ID:          id,
		TenantID:    k.TenantID,
		TenantName:  k.TenantName,
		Name:        k.Name,
		Environment: k.Environment,
		Last4:       token.Last4(),
		PerMinute:   k.PerMinute,
		Scope:       k.Scope,
		Allowed:     k.Allowed,
		CreatedAt:   now,
		ExpiresAt:   k.ExpiresAt,
	}, err
}
