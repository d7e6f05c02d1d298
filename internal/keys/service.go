package keys

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"petstore.example/internal/audit"
)

// Errors of a request to issue a key.
var (
	// ErrKeyName: the text can't be the name of a key.
	ErrKeyName = errors.New("a key's name is at most 100 characters, none of them a control character")
	// ErrExpiryPast: the key would be born expired.
	ErrExpiryPast = errors.New("the expiry is not in the future")
	// ErrTextHoldsKey: a text that would be kept, and shown to others, holds what looks like an API key. It never holds
	// the text.
	ErrTextHoldsKey = errors.New("the text holds what looks like an API key")
)

// tokenForm has no word boundaries, unlike the form by which leaked keys are sought: a key with something glued to it is
// no less a secret.
var tokenForm = regexp.MustCompile(`pst_(live|test)_[0-9A-Za-z]{36}`)

// CheckText returns ErrTextHoldsKey for a text that has the form of a key in it, whether or not such a key was issued.
// Stores refuse such names, reasons and actors.
func CheckText(text string) error {
	if tokenForm.MatchString(text) {
		return ErrTextHoldsKey
	}
	return nil
}

// maxNameLength is in code points.
const maxNameLength = 100

// ServiceStore keeps issued keys. Every change writes its audit entry in its own transaction and, when by.DryRun is set,
// is checked in full and then undone. A text to keep that holds a key is refused with ErrTextHoldsKey.
type ServiceStore interface {
	// CreateKey adds a key for the tenant k.TenantName. It returns plans.ErrTenantNotFound, or ErrTooManyKeys when the
	// tenant has MaxActive keys that are active at k.CreatedAt, however many are created at the same time.
	CreateKey(ctx context.Context, by audit.By, k Key, d Digest) (Key, error)
	// FindKey returns the key of that digest, whatever its state, or ErrKeyNotFound.
	FindKey(ctx context.Context, d Digest) (Key, error)
	// RevokeKey returns the key as it is after, ErrKeyNotFound, or ErrKeyRevoked when it was revoked before.
	RevokeKey(ctx context.Context, by audit.By, id string, now time.Time) (Key, error)
}

// Service issues, identifies and revokes keys.
type Service struct {
	Store ServiceStore
	// Clock tells the time; nil for the system's.
	Clock func() time.Time
}

// Request asks for a new key.
type Request struct {
	// Tenant is the name of the tenant.
	Tenant string
	// Name tells the tenant's keys apart, for people. It may be empty and need not be unique.
	Name        string
	Environment Environment
	// ExpiresAt is zero for never.
	ExpiresAt time.Time
}

// Issue makes a key. The token is the only place where its plaintext ever is: it can't be had again.
// It returns ErrKeyName, ErrExpiryPast, ErrTextHoldsKey, or an error of ServiceStore.CreateKey.
func (s *Service) Issue(ctx context.Context, by audit.By, r Request) (Key, Token, error) {
	now := s.now()
	if err := r.check(now); err != nil {
		return Key{}, Token{}, fmt.Errorf("issue key: %w", err)
	}
	token, err := NewToken(r.Environment)
	if err != nil {
		return Key{}, Token{}, err
	}
	id, err := NewID()
	if err != nil {
		return Key{}, Token{}, err
	}
	key, err := s.Store.CreateKey(ctx, by, Key{
		ID: id, TenantName: r.Tenant, Name: r.Name, Environment: r.Environment, Last4: token.Last4(),
		CreatedAt: now, ExpiresAt: r.ExpiresAt,
	}, token.Digest())
	if err != nil {
		return Key{}, Token{}, fmt.Errorf("issue key: %w", err)
	}
	return key, token, nil
}

// Identify returns the key that the text is, whatever its state: ErrMalformed when it is no key of ours,
// ErrKeyNotFound when it was never issued.
func (s *Service) Identify(ctx context.Context, text string) (Key, error) {
	token, err := ParseToken(text)
	if err != nil {
		return Key{}, err
	}
	key, err := s.Store.FindKey(ctx, token.Digest())
	if err != nil {
		return Key{}, fmt.Errorf("identify key: %w", err)
	}
	return key, nil
}

// Revoke ends a key at once and for ever. It returns an error of ServiceStore.RevokeKey.
func (s *Service) Revoke(ctx context.Context, by audit.By, id string) (Key, error) {
	key, err := s.Store.RevokeKey(ctx, by, id, s.now())
	if err != nil {
		return Key{}, fmt.Errorf("revoke key: %w", err)
	}
	return key, nil
}

func (s *Service) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock()
}

func (r Request) check(now time.Time) error {
	if r.Environment != Live && r.Environment != Test {
		return fmt.Errorf("environment %q is neither live nor test", r.Environment)
	}
	if !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now) {
		return ErrExpiryPast
	}
	if utf8.RuneCountInString(r.Name) > maxNameLength || !utf8.ValidString(r.Name) {
		return ErrKeyName
	}
	for _, c := range r.Name {
		if unicode.IsControl(c) {
			return ErrKeyName
		}
	}
	return CheckText(r.Name)
}
