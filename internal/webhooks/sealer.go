package webhooks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// keyBytes is the length of a key of PETSTORE_SECRETS_KEY.
	keyBytes = 32
	// secretBytes is the length of a new secret.
	secretBytes = 32
	// SecretPrefix begins the text of a secret.
	SecretPrefix = "whsec_"
)

var (
	// ErrKeys: the setting has no such keys.
	ErrKeys = errors.New("want 32 bytes in base64 (openssl rand -base64 32), or two such keys separated by a comma, " +
		"the new one first")
	// ErrUnknownKey: a secret is sealed with a key that this server does not have.
	ErrUnknownKey = errors.New("the secret is sealed with another key")
)

// Sealer encrypts secrets with AES-256-GCM, so that they are stored and can be used to sign.
type Sealer struct {
	ids  []string
	aead map[string]cipher.AEAD
	keys [][]byte
}

// NewSealer reads one key, or two while the first replaces the second. The error shows no key.
func NewSealer(keys string) (*Sealer, error) {
	s := &Sealer{aead: map[string]cipher.AEAD{}}
	for text := range strings.SplitSeq(keys, ",") {
		key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
		if err != nil || len(key) != keyBytes || len(s.ids) == 2 {
			return nil, ErrKeys
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		id := keyID(key)
		if s.aead[id] != nil {
			return nil, ErrKeys
		}
		if s.aead[id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
		s.ids, s.keys = append(s.ids, id), append(s.keys, key)
	}
	return s, nil
}

// NewKey returns a key for NewSealer.
func NewKey() string {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // It never fails.
	return base64.StdEncoding.EncodeToString(key)
}

// keyID names a key without telling it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("petstore secrets key: "), key...))
	return hex.EncodeToString(sum[:6])
}

// KeyIDs names the keys. Secrets are sealed with the first.
func (s *Sealer) KeyIDs() []string { return s.ids }

// Derive returns a key for another purpose of each key, in their order (HKDF, RFC 5869).
func (s *Sealer) Derive(purpose string) [][]byte {
	derived := make([][]byte, len(s.keys))
	for i, key := range s.keys {
		// It fails only for more than 8,160 bytes.
		derived[i], _ = hkdf.Key(sha256.New, key, nil, "petstore "+purpose, keyBytes)
	}
	return derived
}

// Seal encrypts the secret of an endpoint.
func (s *Sealer) Seal(endpoint int64, secret []byte) Sealed {
	id := s.ids[0]
	sealed := s.aead[id].Seal(nil, nil, secret, ofEndpoint(endpoint)) //nolint:gosec // It makes the nonce itself.
	return Sealed{KeyID: id, Ciphertext: sealed}
}

// NewSecret makes a secret. seal encrypts it, and text is what its owner is shown.
func (s *Sealer) NewSecret() (seal Seal, text string) {
	secret, text := NewSecret()
	return func(endpoint int64) Sealed { return s.Seal(endpoint, secret) }, text
}

// Open returns the secret of an endpoint. It fails with ErrUnknownKey, or if the ciphertext is not
// of this endpoint.
func (s *Sealer) Open(endpoint int64, sealed Sealed) ([]byte, error) {
	aead := s.aead[sealed.KeyID]
	if aead == nil {
		return nil, ErrUnknownKey
	}
	secret, err := aead.Open(nil, nil, sealed.Ciphertext, ofEndpoint(endpoint))
	if err != nil {
		return nil, fmt.Errorf("open the secret of endpoint %d: %w", endpoint, err)
	}
	return secret, nil
}

func ofEndpoint(id int64) []byte { return strconv.AppendInt([]byte("webhook endpoint "), id, 10) }

// NewSecret returns the bytes of a new secret, and the text that its owner is shown.
func NewSecret() (secret []byte, text string) {
	secret = make([]byte, secretBytes)
	_, _ = rand.Read(secret) // It never fails.
	return secret, SecretPrefix + base64.StdEncoding.EncodeToString(secret)
}
