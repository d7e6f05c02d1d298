package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Environment is the kind of deployment that a key works on. Other deployments refuse it.
type Environment string

// Live keys work on production deployments, test keys on staging.
const (
	Live Environment = "live"
	Test Environment = "test"
	// AnyEnvironment is the environment of a server that accepts live and test keys. No key has it.
	AnyEnvironment Environment = "any"
)

// Accepts reports whether a key of the other environment works on deployments of this one.
func (e Environment) Accepts(of Environment) bool { return e == of || e == AnyEnvironment }

const (
	alphabet       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	prefixLength   = len("pst_live_")
	randomLength   = 30
	checksumLength = 6
	// TokenLength is the number of characters of a key.
	TokenLength = prefixLength + randomLength + checksumLength
)

// ErrMalformed: the text does not have the form of an API key. The error never contains the text.
var ErrMalformed = errors.New("malformed API key")

// Digest is the SHA-256 of a key. Keys are stored and looked up by it. With 178 random bits in the
// key it needs neither salt nor a slow hash.
type Digest [sha256.Size]byte

// DigestPrefix is the first half of a Digest. It suffices to tell digests apart, but not to
// identify a caller.
type DigestPrefix [sha256.Size / 2]byte

// Prefix returns the first half of the digest.
func (d Digest) Prefix() DigestPrefix { return DigestPrefix(d[:len(DigestPrefix{})]) }

// Token is the plaintext of an API key: "pst_live_" or "pst_test_", 30 random letters and digits,
// and the CRC-32 (IEEE) of these parts in base 62, six characters. It prints itself redacted; only
// Reveal returns the text.
//
// It carries its digest, so that a connection that keeps the Token of its requests need not hash
// the key again.
type Token struct {
	text   string
	digest Digest
}

// NewToken makes a key for the environment from 178 random bits.
func NewToken(env Environment) (Token, error) {
	random, err := randomBase62(rand.Reader, randomLength)
	if err != nil {
		return Token{}, fmt.Errorf("make API key: %w", err)
	}
	body := "pst_" + string(env) + "_" + random
	sum := checksum([]byte(body))
	text := body + string(sum[:])
	return Token{text: text, digest: sha256.Sum256([]byte(text))}, nil
}

// ParseToken returns ErrMalformed unless the text has the form of a key and a correct checksum. So
// typos and fakes are refused without a look-up.
func ParseToken(text string) (Token, error) {
	if len(text) != TokenLength || (text[:prefixLength] != "pst_live_" && text[:prefixLength] != "pst_test_") {
		return Token{}, ErrMalformed
	}
	key := []byte(text)
	// The checksum is compared first, because most wrong keys have a wrong one.
	body := key[:TokenLength-checksumLength]
	if sum := checksum(body); text[len(body):] != string(sum[:]) || !isBase62(text[prefixLength:len(body)]) {
		return Token{}, ErrMalformed
	}
	return Token{text: text, digest: sha256.Sum256(key)}, nil
}

// Digest returns the digest by which the key is stored and looked up.
func (t Token) Digest() Digest { return t.digest }

// Environment returns the environment of the key.
func (t Token) Environment() Environment {
	if strings.HasPrefix(t.text, "pst_test_") {
		return Test
	}
	return Live
}

// Last4 returns the last four characters, by which people recognise the key.
func (t Token) Last4() string {
	return t.text[max(0, len(t.text)-4):]
}

// Reveal returns the secret, to be shown once to the person it was issued to.
func (t Token) Reveal() string { return t.text }

// String redacts, as Format and MarshalText do, so that no log, error or JSON document contains a
// key.
func (t Token) String() string { return "pst_" + string(t.Environment()) + "_…" + t.Last4() }

// Format redacts for every verb. Without it, fmt would print the fields for some verbs.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalText redacts.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// IsID reports whether the text has the form of the ID of a key.
func IsID(text string) bool {
	random, ok := strings.CutPrefix(text, "key_")
	return ok && len(random) == 16 && isBase62(random)
}

func isBase62(s string) bool { return strings.Trim(s, alphabet) == "" }

// checksum returns the CRC-32 (IEEE) of body in base 62.
func checksum(body []byte) (out [checksumLength]byte) {
	sum := crc32.ChecksumIEEE(body)
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[sum%62]
		sum /= 62
	}
	return out
}

// randomBase62 returns n random letters and digits. It discards bytes of 248 and more, so that all
// characters are equally likely.
func randomBase62(random io.Reader, n int) (string, error) {
	out := make([]byte, 0, n)
	buf := make([]byte, n)
	for len(out) < n {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", err
		}
		for _, b := range buf {
			if b < 248 && len(out) < n {
				out = append(out, alphabet[b%62])
			}
		}
	}
	return string(out), nil
}
