package keys

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/plans"
)

// Errors of this package and of its stores. Stores wrap them, so compare with errors.Is.
var (
	// ErrInvalidKey: the key is malformed, unknown, revoked, expired, for another environment, or
	// of a suspended tenant. Only the holder of an existing key learns which: see StatusError.
	ErrInvalidKey = errors.New("invalid API key")
	// ErrOtherEnvironment: the key is for another environment, and no key with its text is known.
	// It is an ErrInvalidKey.
	ErrOtherEnvironment = fmt.Errorf("%w: for another environment", ErrInvalidKey)
	// ErrKeyNotFound: there is no key with that ID or digest.
	ErrKeyNotFound = errors.New("no such key")
	// ErrTooManyKeys: the tenant has MaxActive active keys without a replacement.
	ErrTooManyKeys = errors.New("the tenant has the maximum number of active keys")
	// ErrKeyRevoked: the key is already revoked.
	ErrKeyRevoked = errors.New("the key is revoked")
	// ErrKeyNotRevoked: the key to bring back is not revoked.
	ErrKeyNotRevoked = errors.New("the key is not revoked")
	// ErrRevocationFinal: the key was revoked too long ago to be brought back.
	ErrRevocationFinal = errors.New("a revoked key can be brought back for 15 minutes only")
	// ErrRevokedByOther: only the login that revoked the key, or the owner of the tables, can bring
	// it back.
	ErrRevokedByOther = errors.New("a key is brought back by the login that revoked it, or by the owner of the tables")
	// ErrBanNotFound: the key has no ban in force.
	ErrBanNotFound = errors.New("no ban in force")
	// ErrNotCached: the key is not in memory, so the store must be asked.
	ErrNotCached = errors.New("key not cached")
	// ErrUnavailable: the store is down or did not answer in time; a later retry helps.
	ErrUnavailable = errors.New("key store unavailable")
)

const (
	// MaxActive is the most active keys without a replacement that a tenant may have.
	MaxActive = 10
	// MaxInGrace is the most keys in their grace period. A further rotation ends the one that was
	// rotated first.
	MaxInGrace = 10
)

// Key is an issued API key, without its secret.
type Key struct {
	// ID is "key_" and 16 letters and digits.
	ID          string
	TenantID    int64
	TenantName  string
	Name        string
	Environment Environment
	// Last4 is the end of the plaintext.
	Last4 string
	// PerMinute is the key's own limit, in addition to the tenant's quota; 0 for none.
	PerMinute int64
	Scope     Scope
	// Allowed are the addresses from which the key may be used; "" for any.
	Allowed   Ranges
	CreatedAt time.Time
	// ExpiresAt, RevokedAt and LastUsedAt are zero for never. LastUsedAt is accurate to a minute.
	ExpiresAt  time.Time
	RevokedAt  time.Time
	LastUsedAt time.Time
	// Ban is the ban that ends last, with its source, reason and end; the zero Ban for none. Lifted
	// bans do not count.
	Ban Ban
	// ReplacedBy is the ID of the key's replacement, "" if there is none or it was revoked.
	ReplacedBy string
}

// Status says whether a key is valid, or why not.
type Status string

// The statuses of a key. Only a Key can be Banned. Only a Caller can be TenantSuspended or
// OtherEnvironment.
const (
	Active           Status = "active"
	Banned           Status = "banned"
	Revoked          Status = "revoked"
	Expired          Status = "expired"
	TenantSuspended  Status = "tenant_suspended"
	OtherEnvironment Status = "other_environment"
)

// ExpiryNotice is how long before a key expires its customer is warned.
const ExpiryNotice = 30 * 24 * time.Hour

// Valid reports whether the key is neither revoked nor expired. It may be banned.
func (k Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Status returns Active, Banned, Expired or Revoked.
func (k Key) Status(now time.Time) Status {
	switch {
	case !k.RevokedAt.IsZero():
		return Revoked
	case !k.Valid(now):
		return Expired
	case k.Ban.InForce(now):
		return Banned
	}
	return Active
}

// NewID returns a random ID for a key. It is not secret.
func NewID() (string, error) {
	id, err := randomBase62(rand.Reader, 16)
	if err != nil {
		return "", fmt.Errorf("make key id: %w", err)
	}
	return "key_" + id, nil
}

// StatusError is the ErrInvalidKey of a key that exists. It says why the key is not valid.
type StatusError Status

// Error implements error.
func (e StatusError) Error() string { return ErrInvalidKey.Error() + ": " + string(e) }

// Is reports whether target is ErrInvalidKey.
func (e StatusError) Is(target error) bool { return target == ErrInvalidKey }

// Caller is the key and the tenant that a request comes from. Requests share it: treat it as
// read-only. A directory caches one for each key in use, so it is small.
type Caller struct {
	KeyID       string
	Environment Environment
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time
	// RevokedAt is in Unix seconds, 0 for a key that is not revoked.
	RevokedAt int64
	// PerMinute is the key's own limit, 0 for none.
	PerMinute int64
	// Access is what the key may do, and from where; nil for ScopeWrite from anywhere.
	Access *Access
	Tenant *plans.Tenant
	// Ban is the ban that ends last of those in force when the caller was loaded; nil for none.
	Ban *Ban
}

// Status returns Active if the key is valid in that environment, or why it is not.
func (c *Caller) Status(env Environment, now time.Time) Status {
	switch {
	case c.RevokedAt != 0:
		return Revoked
	case !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt):
		return Expired
	case !c.Tenant.SuspendedAt.IsZero():
		return TenantSuspended
	case !env.Accepts(c.Environment):
		return OtherEnvironment
	}
	return Active
}

// Banned returns the ban in force, nil for none.
func (c *Caller) Banned(now time.Time) *Ban {
	if c.Ban != nil && c.Ban.InForce(now) {
		return c.Ban
	}
	return nil
}
