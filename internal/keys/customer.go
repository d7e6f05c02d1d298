package keys

import (
	"errors"
	"net/netip"
	"time"
)

// MaxMadeADay is how many keys a tenant itself may make in a UTC day.
const MaxMadeADay = 200

// MaxChanges is how often a tenant may change its keys in a minute, on one server.
const MaxChanges = 60

// Errors of a tenant's own changes, in addition to ErrKeyNotFound, ErrTooManyKeys, ErrExpiryPast
// and AlreadyRotatedError.
var (
	// ErrRequester: the key that asks is no longer valid in the store, because it was revoked or
	// expired a moment ago, or its tenant was suspended. It is a StatusError too, unless there is
	// no such key. ErrRequesterBanned is for a key that was banned, ErrRequesterScope for one whose
	// scope was narrowed.
	ErrRequester       = errors.New("the key that asks is not valid")
	ErrRequesterBanned = errors.New("the key that asks is banned")
	ErrRequesterScope  = errors.New("the key that asks is not for this")
	// ErrKeyChanged: the key's version is not the one that the change requires.
	ErrKeyChanged = errors.New("the key has changed")
	// ErrKeyInactive: the key was revoked or has expired.
	ErrKeyInactive = errors.New("the key was revoked or has expired")
	// ErrExpiryLate: a key that may not manage keys asks for one that expires later than itself.
	ErrExpiryLate = errors.New("the expiry must be that of the key at the latest")
	// ErrManyKeysMade: the tenant has made MaxMadeADay keys on this UTC day.
	ErrManyKeysMade = errors.New("the tenant has made as many keys today as it may")
	// ErrLastManageKey: the change would leave no key that can manage the tenant's keys from the
	// requester's address for 7 more days, or for as long as the changed key could.
	ErrLastManageKey = errors.New("it is the last key that may manage the tenant's keys")
	// ErrStaleSignIn: the sign-in began too long ago to make a key that may manage keys, or to
	// change the addresses or the expiry of one.
	ErrStaleSignIn = errors.New("the sign-in began more than 15 minutes ago")
	// ErrBannedSignIn: the sign-in began with a key that is banned, so it makes no key.
	ErrBannedSignIn = errors.New("the key of the sign-in is banned")
)

// CustomerKey is a key as its tenant sees it: without the tenant's name, and with only the end of a
// ban.
type CustomerKey struct {
	Key
	// IssuedBy is the ID of the issuing key, or account or support. Replaces is the ID of the
	// replaced key. Each is "" for none or unknown.
	IssuedBy, Replaces string
	// Version changes with each change of the key, but not with its use.
	Version string
	// AlsoEnded are the IDs of other keys that the change ended. A revocation ends replacements. A
	// rotation ends Rotated.Ended. A key that rotates itself again also ends its earlier
	// replacement if that was never used, as when the response was lost.
	AlsoEnded []string
}

// CustomerQuery selects keys of a tenant.
type CustomerQuery struct {
	// ID selects one key.
	ID string
	// Status selects the keys that have this status at the instant At.
	Status Status
	At     time.Time
	// AfterAt and After are the CreatedAt and ID of the key after which the list begins; After is
	// "" for a list from the beginning. The key need not exist any more. Limit is the maximum
	// number of keys.
	AfterAt time.Time
	After   string
	Limit   int
}

// CustomerChange is a change that a tenant makes to its keys.
type CustomerChange struct {
	// Action is key.issue, key.edit, key.rotate or key.revoke.
	Action string
	// ID is the ID of the key to change, or of the new one.
	ID string
	// Edit has the members to change, or the members of a new key. A rotation has only ExpiresAt;
	// nil stands for the old key's.
	Edit Edit
	// Version is the version that the key must have, "" for any.
	Version string
	// GracePeriod is how long a rotated key keeps working. It is a day for a key that rotates
	// itself without the scope to manage keys.
	GracePeriod time.Duration
	// Reason is why the key is revoked. Replacements also revokes the keys that it issued by
	// rotating itself, and those that these issued.
	Reason       string
	Replacements bool
	// From is the requester's address, zero if unknown.
	From netip.Addr
	// NewID and Token are the new key's.
	NewID string
	Token Token
}

// AlreadyIssuedError means that a request with the same idempotency key has issued a key, whose
// secret is not stored.
type AlreadyIssuedError struct{ ID string }

// Error implements error.
func (e *AlreadyIssuedError) Error() string { return "key " + e.ID + " was issued already" }
