package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"petstore.example/internal/audit"
)

// Errors of Issue and Edit.
var (
	// ErrKeyName: the text is not a valid name of a key.
	ErrKeyName = errors.New("the name of a key must be valid UTF-8 of at most 100 characters")
	// ErrExpiryPast: the expiry is not in the future.
	ErrExpiryPast = errors.New("the expiry must be in the future")
	// ErrPerMinute: the key's own limit is negative.
	ErrPerMinute = errors.New("the limit of a key must be at least 1 request per minute")
)

// MaxName is the maximum length of the name of a key, and MaxReason that of a tenant's reason for a
// revocation, in code points.
const (
	MaxName   = 100
	MaxReason = 200
)

// ServiceStore stores keys. Every change writes its audit entry in the same transaction. With
// by.DryRun a change is checked in full and then rolled back. A text that CheckText refuses is an
// error.
type ServiceStore interface {
	// Create adds a key for the tenant k.TenantName. It returns plans.ErrTenantNotFound. It returns
	// ErrTooManyKeys if the tenant has MaxActive keys that are active at k.CreatedAt and have no
	// replacement. Concurrent calls can't exceed that number.
	Create(ctx context.Context, by audit.By, k Key, d Digest) (Key, error)
	// Find returns the key with that digest, whatever its status, or ErrKeyNotFound.
	Find(ctx context.Context, d Digest) (Key, error)
	// Edit changes the key and returns it before and after. It returns ErrKeyNotFound or
	// ErrKeyRevoked or, if the expiry changes, ErrExpiryPast or ErrKeyExpired. If nothing changes,
	// before and after are equal and there is no audit entry.
	Edit(ctx context.Context, by audit.By, id string, e Edit, now time.Time) (before, after Key, err error)
	// Rotate adds the replacement that next makes and lets the old key expire after the grace
	// period, unless it expires earlier. It returns ErrKeyNotFound, ErrKeyRevoked, ErrKeyExpired, an
	// AlreadyRotatedError, an error of next, or ErrTooManyKeys as Create does.
	Rotate(ctx context.Context, by audit.By, id string, now time.Time, r Rotation, next Replacement) (Rotated, error)
	// Revoke returns the key as it is afterwards, ErrKeyNotFound, or ErrKeyRevoked if it is already
	// revoked.
	Revoke(ctx context.Context, by audit.By, id string, now time.Time) (Key, error)
}

// Service issues, identifies, edits, rotates and revokes keys.
type Service struct {
	Store ServiceStore
	// Clock returns the time; time.Now if nil.
	Clock func() time.Time
}

// Request asks for a new key.
type Request struct {
	// Tenant is the name of the tenant.
	Tenant string
	// Name is for people. It may be empty and need not be unique.
	Name        string
	Environment Environment
	// PerMinute is the key's own limit, in addition to the tenant's quota; 0 for none.
	PerMinute int64
	// Scope is the scope; "" stands for ScopeWrite.
	Scope Scope
	// Allowed are the addresses from which the key may be used; "" for any.
	Allowed Ranges
	// ExpiresAt is zero for never.
	ExpiresAt time.Time
}

// Edit is a change to a key. Nil fields leave it unchanged.
type Edit struct {
	Name *string
	// PerMinute is the key's own limit; 0 removes it.
	PerMinute *int64
	Scope     *Scope
	// Allowed are the addresses from which the key may be used; "" for any.
	Allowed *Ranges
	// ExpiresAt is when the key expires: in the future, or zero for never. An expired key stays
	// expired.
	ExpiresAt *time.Time
}

// Issue makes a key. The returned Token is the only place where the plaintext ever exists. It
// returns ErrKeyName, ErrPerMinute, ErrScope, ErrExpiryPast, an error of CheckText, or an error of
// ServiceStore.Create.
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
		ID:          id,
		TenantName:  r.Tenant,
		Name:        r.Name,
		Environment: r.Environment,
		Last4:       token.Last4(),
		PerMinute:   r.PerMinute,
		Scope:       cmp.Or(r.Scope, ScopeWrite),
		Allowed:     r.Allowed,
		CreatedAt:   now,
		ExpiresAt:   r.ExpiresAt,
	}, token.Digest())
	if err != nil {
		return Key{}, Token{}, fmt.Errorf("issue key: %w", err)
	}
	return key, token, nil
}

// Identify returns the key with that plaintext, whatever its status. It returns ErrMalformed for a
// text without the form of a key, and ErrKeyNotFound for a key that was never issued.
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

// Edit changes a key's name, own limit, scope, addresses or expiry, and returns the key before and
// after. It returns ErrKeyName, ErrPerMinute, ErrScope, an error of CheckText, or an error of
// ServiceStore.Edit.
func (s *Service) Edit(ctx context.Context, by audit.By, id string, e Edit) (before, after Key, err error) {
	now := s.now()
	if err = e.Check(now); err == nil {
		before, after, err = s.Store.Edit(ctx, by, id, e, now)
	}
	if err != nil {
		return Key{}, Key{}, fmt.Errorf("edit key: %w", err)
	}
	return before, after, nil
}

// Revoke ends a key at once. It returns an error of ServiceStore.Revoke.
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
	return Edit{&r.Name, &r.PerMinute, new(cmp.Or(r.Scope, ScopeWrite)), &r.Allowed, &r.ExpiresAt}.Check(now)
}

// Check checks the members of a key. It returns ErrKeyName, ErrPerMinute, ErrScope, ErrExpiryPast
// and errors of ParseRanges and CheckText, joined. The store checks the expiry again, because time
// passes.
func (e Edit) Check(now time.Time) (err error) {
	if e.Name != nil {
		err = checkName(*e.Name)
	}
	if e.PerMinute != nil && *e.PerMinute < 0 { // 0 is for no limit.
		err = errors.Join(err, ErrPerMinute)
	}
	if e.Scope != nil && !slices.Contains(Scopes, *e.Scope) {
		err = errors.Join(err, ErrScope)
	}
	if e.Allowed != nil {
		_, wrong := ParseRanges(e.Allowed.List())
		err = errors.Join(err, wrong)
	}
	if e.ExpiresAt != nil && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(now) {
		err = errors.Join(err, ErrExpiryPast)
	}
	return err
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > MaxName || !utf8.ValidString(name) {
		return ErrKeyName
	}
	if err := CheckText(name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	return nil
}
