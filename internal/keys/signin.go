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
	// ID names it, and is no secret.
	ID string
	// At is when it began, and EndsAt when it ends if it is not used any more.
	At, EndsAt time.Time
	// UsedAt is accurate to a minute.
	UsedAt time.Time
	// KeyID is the manage key by which it began, "" for an invitation. KeyName is "" for none.
	KeyID, KeyName string
	// Own is true in a list for the one of who asks.
	Own bool
}

// SignedIn is a sign-in with its caller, whose KeyID is "" for an invitation.
type SignedIn struct {
	ID string
	// At is when it began.
	At time.Time
	Caller
}

// NewSecret returns 256 random bits for a cookie or a link, 43 characters of base64url, and their
// digest, which alone is stored.
func NewSecret() (string, Digest) {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // It never fails.
	text := base64.RawURLEncoding.EncodeToString(bits[:])
	return text, DigestOf(text)
}

// DigestOf returns the digest of such a text.
func DigestOf(text string) Digest { return sha256.Sum256([]byte(text)) }
