package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
)

const (
	// StandardKeep is how long a key that was rotated still works when nobody says.
	StandardKeep = 24 * time.Hour
	// MaxKeep is the longest that it may.
	MaxKeep = 7 * 24 * time.Hour
)

// Errors of a request to rotate a key.
var (
	// ErrKeep: the old key would be kept for less than no time or more than MaxKeep.
	ErrKeep = errors.New("a key that is rotated is kept for 0 to 7 days")
	// ErrKeyExpired: the key's time is over.
	ErrKeyExpired = errors.New("the key has expired")
)

// Rotation asks for a new key in the place of another.
type Rotation struct {
	// Keep is how long the old key still works; an earlier expiry of its own stays.
	Keep time.Duration
	// ExpiresAt is the new key's, zero for never; nil for that of the old one.
	ExpiresAt *time.Time
}

// Successor makes the key that follows one, which is locked, with its digest.
type Successor func(old Key) (Key, Digest, error)

// Rotate makes a key of the same tenant, name, environment and own limit in the place of another, and lets that one expire. It
// returns both as they are after. It returns ErrKeep, ErrExpiryPast, or an error of ServiceStore.RotateKey.
func (s *Service) Rotate(ctx context.Context, by audit.By, id string, r Rotation) (old, issued Key, token Token, err error) {
	now := s.now()
	if err = r.check(now); err != nil {
		return Key{}, Key{}, Token{}, fmt.Errorf("rotate key: %w", err)
	}
	old, issued, err = s.Store.RotateKey(ctx, by, id, now, now.Add(r.Keep), func(old Key) (Key, Digest, error) {
		if token, err = NewToken(old.Environment); err != nil {
			return Key{}, Digest{}, err
		}
		next, err := old.successor(token, now)
		if r.ExpiresAt != nil {
			next.ExpiresAt = *r.ExpiresAt
		}
		return next, token.Digest(), err
	})
	if err != nil {
		return Key{}, Key{}, Token{}, fmt.Errorf("rotate key: %w", err)
	}
	return old, issued, token, nil
}

func (r Rotation) check(now time.Time) error {
	switch {
	case r.Keep < 0 || r.Keep > MaxKeep:
		return ErrKeep
	case r.ExpiresAt != nil && !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now):
		return ErrExpiryPast
	}
	return nil
}

// successor is the key that takes the place of k.
func (k Key) successor(token Token, now time.Time) (Key, error) {
	id, err := NewID()
	return Key{
		ID: id, TenantID: k.TenantID, TenantName: k.TenantName, Name: k.Name, Environment: k.Environment,
		Last4: token.Last4(), PerMinute: k.PerMinute, CreatedAt: now, ExpiresAt: k.ExpiresAt,
	}, err
}
