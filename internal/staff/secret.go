package staff

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

const (
	// alphabet has no 0, 1, i, l and o, which look alike.
	alphabet     = "23456789abcdefghjkmnpqrstuvwxyz"
	secretPrefix = "petstaff-"
	groups       = 6
	groupLength  = 5
	// iterations is Postgres's default. A secret has 148 random bits, so more iterations would slow
	// down logins, but not an attacker.
	iterations = 4096
	saltLength = 16
)

// secretForm has no word boundaries: a secret next to other characters is still a secret.
var secretForm = regexp.MustCompile(`petstaff-([2-9a-hjkmnp-z]{5}-){5}[2-9a-hjkmnp-z]{5}`)

// ContainsSecret reports whether a text contains the form of a secret.
func ContainsSecret(text string) bool { return secretForm.MatchString(text) }

// Secret is the password of a login: "petstaff-" and six groups of five letters and digits, 148
// random bits. It prints itself redacted; only Reveal returns the text.
type Secret struct{ text string }

// NewSecret makes a secret.
func NewSecret() (Secret, error) {
	size := big.NewInt(int64(len(alphabet)))
	var text strings.Builder
	text.WriteString(secretPrefix)
	for i := range groups * groupLength {
		if i > 0 && i%groupLength == 0 {
			text.WriteByte('-')
		}
		n, err := rand.Int(rand.Reader, size)
		if err != nil {
			return Secret{}, fmt.Errorf("make secret: %w", err)
		}
		text.WriteByte(alphabet[n.Int64()])
	}
	return Secret{text.String()}, nil
}

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// String implements fmt.Stringer without the text.
func (Secret) String() string { return secretPrefix + "…" }

// GoString implements fmt.GoStringer without the text.
func (s Secret) GoString() string { return s.String() }

// Verifier returns what Postgres stores of the secret, with a new salt: a SCRAM-SHA-256 verifier
// (RFC 5803), as in pg_authid.
func (s Secret) Verifier() (string, error) {
	salt := make([]byte, saltLength)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("make verifier: %w", err)
	}
	return verifier(s.text, salt)
}

// verifier computes the verifier of an ASCII text, which SASLprep does not change (RFC 5802,
// section 3).
func verifier(text string, salt []byte) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, text, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("make verifier: %w", err)
	}
	stored := sha256.Sum256(sum(salted, "Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(
		"SCRAM-SHA-256$%d:%s$%s:%s",
		iterations,
		encode(salt),
		encode(stored[:]),
		encode(sum(salted, "Server Key")),
	), nil
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
