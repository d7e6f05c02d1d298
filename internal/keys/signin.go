package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"
)

// ErrNoSignIn: there is no such sign-in, or it has ended.
var ErrNoSignIn = errors.New("no such sign-in")

// SignIn is a person who is signed in on the page /account.
type SignIn struct {
	// ID identifies it, and is not secret.
	ID string
	// At is when it began. EndsAt is when it ends if it is not used before.
	At, EndsAt time.Time
	// UsedAt is accurate to a minute.
	UsedAt time.Time
	// KeyID is the manage key with which it began, "" for an invitation. KeyName is "" if the key
	// has none.
	KeyID, KeyName string
	// Own is true in a list for the requester's own sign-in.
	Own bool
}

// SignedIn is a sign-in with its caller. The caller's KeyID is "" for an invitation.
type SignedIn struct {
	ID string
	// At is when it began.
	At time.Time
	Caller
}

// NewSecret returns 256 random bits for a cookie or a link, as 43 characters of base64url, and
// their digest. Only the digest is stored.
func NewSecret() (string, Digest) {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // crypto/rand never fails.
	text := base64.RawURLEncoding.EncodeToString(bits[:])
	return text, DigestOf(text)
}

// DigestOf returns the digest of a text from NewSecret.
func DigestOf(text string) Digest { return sha256.Sum256([]byte(text)) }
