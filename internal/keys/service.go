package keys

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
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
	// ErrPerMinute: a key's own limit would let nothing through.
	ErrPerMinute = errors.New("a key's own limit is at least 1 request per minute")
	// ErrTextHoldsKey: a text that would be kept, and shown to others, holds what looks like an API key. It
	// never holds the text.
	ErrTextHoldsKey = errors.New("the text holds what looks like an API key")
)

// tokenForm has no word boundaries, unlike the form by which leaked keys are sought: a key with something
// glued to it is no less a secret.
var tokenForm = regexp.MustCompile(`pst_(live|test)_[0-9A-Za-z]{36}`)

// CheckText returns ErrTextHoldsKey for a text that has the form of a key in it, whether or not such a key
// was issued. Stores refuse such names, reasons and actors.
func CheckText(text string) error {
	if tokenForm.MatchString(text) {
		return ErrTextHoldsKey
	}
	return nil
}

// maxNameLength is in code points.
const maxNameLength = 100

// ServiceStore keeps issued keys. Every change writes its audit entry in its own transaction and, when
// by.DryRun is set, is checked in full and then undone. A text to keep that holds a key is refused with
// ErrTextHoldsKey.
type ServiceStore interface {
	// Create adds a key for the tenant k.TenantName. It returns plans.ErrTenantNotFound, or ErrTooManyKeys
	// when the tenant has MaxActive keys that are active at k.CreatedAt, however many are created at the same
	// time.
	Create(ctx context.Context, by audit.By, k Key, d Digest) (Key, error)
	// Find returns the key of that digest, whatever its state, or ErrKeyNotFound.
	Find(ctx context.Context, d Digest) (Key, error)
	// Edit changes what e names and returns the key before and after, ErrKeyNotFound or ErrKeyRevoked. What
	// is as asked for already is not changed and not remembered: before and after are equal.
	Edit(ctx context.Context, by audit.By, id string, e Edit, now time.Time) (before, after Key, err error)
	// Rotate adds the key that next makes and lets the old one expire at the instant until, unless it does so
	// before. It returns both as they are after, ErrKeyNotFound, ErrKeyRevoked, ErrKeyExpired, an error of
	// next, or ErrTooManyKeys when more than MaxActive would be active at now.
	Rotate(ctx context.Context, by audit.By, id string, now, until time.Time, next Replacement) (old, issued Key, err error)
	// Revoke returns the key as it is after, ErrKeyNotFound, or ErrKeyRevoked when it was revoked before.
	Revoke(ctx context.Context, by audit.By, id string, now time.Time) (Key, error)
}

// Service issues, identifies, changes, rotates and revokes keys.
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
	// PerMinute is a limit of the key's own, beside the tenant's quota; 0 for none.
	PerMinute int64
	// ExpiresAt is zero for never.
	ExpiresAt time.Time
}

// Edit is a change to a key. What is nil stays.
type Edit struct {
	Name *string
	// PerMinute of 0 takes the key's own limit away.
	PerMinute *int64
}

// Issue makes a key. The token is the only place where its plaintext ever is: it can't be had again.
// It returns ErrKeyName, ErrPerMinute, ErrExpiryPast, ErrTextHoldsKey, or an error of ServiceStore.Create.
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
	key, err := s.Store.Create(ctx, by, Key{
		ID: id, TenantName: r.Tenant, Name: r.Name, Environment: r.Environment, Last4: token.Last4(),
		PerMinute: r.PerMinute, CreatedAt: now, ExpiresAt: r.ExpiresAt,
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
	key, err := s.Store.Find(ctx, token.Digest())
	if err != nil {
		return Key{}, fmt.Errorf("identify key: %w", err)
	}
	return key, nil
}

// Edit changes a key's name or its own limit and returns the key before and after. It returns ErrKeyName,
// ErrPerMinute, ErrTextHoldsKey, or an error of ServiceStore.Edit.
func (s *Service) Edit(ctx context.Context, by audit.By, id string, e Edit) (before, after Key, err error) {
	if err = e.check(); err == nil {
		before, after, err = s.Store.Edit(ctx, by, id, e, s.now())
	}
	if err != nil {
		return Key{}, Key{}, fmt.Errorf("edit key: %w", err)
	}
	return before, after, nil
}

// Revoke ends a key at once and for ever. It returns an error of ServiceStore.Revoke.
func (s *Service) Revoke(ctx context.Context, by audit.By, id string) (Key, error) {
	key, err := s.Store.Revoke(ctx, by, id, s.now())
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
	return errors.Join(checkName(r.Name), checkPerMinute(r.PerMinute))
}

func (e Edit) check() (err error) {
	if e.Name != nil {
		err = checkName(*e.Name)
	}
	if e.PerMinute != nil {
		err = errors.Join(err, checkPerMinute(*e.PerMinute))
	}
	return err
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > maxNameLength || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return ErrKeyName
	}
	return CheckText(name)
}

// checkPerMinute takes 0 for no limit.
func checkPerMinute(n int64) error {
	if n < 0 {
		return ErrPerMinute
	}
	return nil
}
