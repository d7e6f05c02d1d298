package keys

import (
	"errors"
	"net/netip"
	"time"
)

// MaxMadeADay is how many keys a tenant may make itself in a UTC day.
const MaxMadeADay = 200

// MaxChanges is how often a tenant may change its keys in a minute, on one server.
const MaxChanges = 60

// Errors of a tenant's own changes, besides ErrKeyNotFound, ErrTooManyKeys, ErrExpiryPast and
// AlreadyRotatedError.
var (
	// ErrAsker: who asks is not valid, by what the store knows now: the key was revoked or expired a
	// moment ago, or the tenant was suspended. It is a StatusError too, unless there is no such key.
	// ErrAskerBanned is one for a key that was banned, and ErrAskerScope for one that was narrowed.
	ErrAsker       = errors.New("the key that asks is not valid")
	ErrAskerBanned = errors.New("the key that asks is banned")
	ErrAskerScope  = errors.New("the key that asks is not for this")
	// ErrKeyChanged: the key has another version.
	ErrKeyChanged = errors.New("the key has changed")
	// ErrKeyInactive: the key was revoked or has expired.
	ErrKeyInactive = errors.New("the key was revoked or has expired")
	// ErrExpiryLate: a key that may not manage keys asks for one that expires after itself.
	ErrExpiryLate = errors.New("the expiry must be that of the key at the latest")
	// ErrManyKeysMade: the tenant has made MaxMadeADay keys on this UTC day.
	ErrManyKeysMade = errors.New("the tenant has made as many keys today as it may")
	// ErrLastManageKey: after the change no key could manage the tenant's keys from the address of
	// who asks, for 7 days or for as long as the key that is changed.
	ErrLastManageKey = errors.New("it is the last key that may manage the tenant's keys")
	// ErrStaleSignIn: the sign-in that asks began too long ago to make a key that may manage keys,
	// or to change the addresses or the end of one.
	ErrStaleSignIn = errors.New("the sign-in began more than 15 minutes ago")
	// ErrBannedSignIn: the sign-in that asks began by a key that is banned, so it makes no key.
	ErrBannedSignIn = errors.New("the key of the sign-in is banned")
)

// Own is a key as its tenant sees it: without the tenant's name, and of a ban only its end.
type Own struct {
	Key
	// IssuedBy is the ID of the key by which it was issued, account or support, and Replaces that
	// of the key that it replaced; "" if that is not known, or for none.
	IssuedBy, Replaces string
	// Version changes with each change of the key, and not when it is used.
	Version string
	// AlsoEnded are the IDs of keys that ended with the change that returns this one: of a
	// revocation, the replacements; of a rotation, those of Rotated.Ended, and a replacement that
	// the key made of itself before, if nobody has sent it since: its response was lost.
	AlsoEnded []string
}

// OwnQuery selects keys of a tenant.
type OwnQuery struct {
	// ID selects one key.
	ID string
	// Status selects those of a status At that instant.
	Status Status
	At     time.Time
	// AfterAt and After are CreatedAt and ID of the key after which the list begins, "" for the
	// first one. There need be no such key any more. Limit is the most keys.
	AfterAt time.Time
	After   string
	Limit   int
}

// OwnChange is a change that a tenant makes to its keys.
type OwnChange struct {
	// Action is key.issue, key.edit, key.rotate or key.revoke.
	Action string
	// ID is the key to change, or that of the new one.
	ID string
	// Edit has the members to change, or those of a new key: of a rotation, ExpiresAt alone, nil for
	// that of the old key.
	Edit Edit
	// Version is the one that the key must have, "" for any.
	Version string
	// GracePeriod is how long a rotated key goes on working: a day if it rotates itself without
	// the scope to manage keys.
	GracePeriod time.Duration
	// Reason is why the key is revoked. With Replacements, those that it has made by rotating itself
	// are too, and those that these have made so.
	Reason       string
	Replacements bool
	// From is the address of who asks, zero if it is not known.
	From netip.Addr
	// NewID and Token are those of the key that is made.
	NewID string
	Token Token
}

// AlreadyIssuedError means that a request with the same idempotency key has issued a key, whose
// secret is not stored.
type AlreadyIssuedError struct{ ID string }

// Error implements error.
func (e *AlreadyIssuedError) Error() string { return "key " + e.ID + " was issued already" }
