package webhooks

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

func newSealer(t *testing.T, keys ...string) *Sealer {
	t.Helper()
	s, err := NewSealer(strings.Join(keys, ","))
	assert.NoError(t, err)
	return s
}

// TestSealedSecrets: a secret is opened as that of its endpoint alone, and with its key alone.
func TestSealedSecrets(t *testing.T) {
	t.Parallel()
	first, second := NewKey(), NewKey()
	old := newSealer(t, first)
	secret, text := NewSecret()
	assert.Equal(t, text, "whsec_"+base64.StdEncoding.EncodeToString(secret))
	assert.Equal(t, len(secret), 32)
	sealed := old.Seal(7, secret)
	again := old.Seal(7, secret)
	assert.True(t, !bytes.Equal(sealed.Ciphertext, again.Ciphertext), "a nonce is used twice")
	assert.True(t, !bytes.Contains(sealed.Ciphertext, secret[:8]), "the secret is not encrypted")

	for name, s := range map[string]*Sealer{
		"its key": old, "beside the next one": newSealer(t, second, first), "two": newSealer(t, first, second),
	} {
		got, err := s.Open(7, sealed)
		assert.True(t, err == nil && bytes.Equal(got, secret), name, err)
		_, err = s.Open(8, sealed)
		assert.True(t, err != nil && !errors.Is(err, ErrUnknownKey), "of another endpoint", err)
	}
	_, err := newSealer(t, second).Open(7, sealed)
	assert.ErrorIs(t, err, ErrUnknownKey)
	forged := Sealed{newSealer(t, second).KeyIDs()[0], sealed.Ciphertext}
	_, err = newSealer(t, second).Open(7, forged)
	assert.True(t, err != nil, "opened with another key")

	both := newSealer(t, second, first)
	assert.Equal(t, both.Seal(7, secret).KeyID, newSealer(t, second).KeyIDs()[0], "the first key seals")
	assert.DeepEqual(t, both.KeyIDs(), []string{newSealer(t, second).KeyIDs()[0], old.KeyIDs()[0]})
	assert.DeepEqual(t, newSealer(t, first+" , "+second).KeyIDs(), newSealer(t, first, second).KeyIDs())
}

// TestKeysAreChecked: no error shows a part of a key.
func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	key := NewKey()
	for name, keys := range map[string]string{
		"none":         "",
		"31 bytes":     base64.StdEncoding.EncodeToString(make([]byte, 31)),
		"33 bytes":     base64.StdEncoding.EncodeToString(make([]byte, 33)),
		"hexadecimal":  strings.Repeat("0f", 32),
		"an empty one": key + ",",
		"twice":        key + "," + key,
		"three":        key + "," + NewKey() + "," + NewKey(),
		"bits over":    key[:42] + "Z=",
	} {
		_, err := NewSealer(keys)
		assert.Equal(t, err, ErrKeys, name)
	}
}

// TestDerivedKeys: keys for other purposes are made of each key alone, in their order, and are none
// of the others.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	first, second := NewKey(), NewKey()
	both := newSealer(t, first+","+second).Derive("a")
	assert.DeepEqual(t, both, append(newSealer(t, first).Derive("a"), newSealer(t, second).Derive("a")...))
	other := newSealer(t, first).Derive("b")[0]
	assert.True(t, len(other) == 32 && !bytes.Equal(other, both[0]) && !bytes.Equal(both[0], both[1]), both, other)
}
