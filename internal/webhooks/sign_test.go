package webhooks

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// TestSignaturesAreTheVectors: the vectors of the clients, the first of them that of Standard
// Webhooks, have our signatures.
func TestSignaturesAreTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../clients/testdata/webhooks.json")
	assert.NoError(t, err)
	var vectors []struct {
		Name, Body string
		Secrets    []string
		Headers    map[string]string
		Result     any
	}
	assert.NoError(t, json.Unmarshal(text, &vectors))
	seen := 0
	for _, v := range vectors {
		signature := v.Headers["webhook-signature"]
		if v.Result == nil || len(v.Secrets) != 1 || strings.Contains(signature, " ") || signature == "" {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v.Secrets[0], SecretPrefix))
		assert.NoError(t, err)
		seconds, err := strconv.ParseInt(v.Headers["webhook-timestamp"], 10, 64)
		assert.NoError(t, err)
		got, err := sign([][]byte{secret}, v.Headers["webhook-id"], time.Unix(seconds, 0), []byte(v.Body))
		assert.Result(t, got, err, signature, v.Name)
		seen++
	}
	assert.True(t, seen >= 5, "the vectors have", seen, "signatures")
}

func TestShortSecretsAreRefused(t *testing.T) {
	t.Parallel()
	good := make([]byte, minSecret)
	for name, secrets := range map[string][][]byte{
		"none": nil, "empty": {nil}, "short": {good[1:]}, "one of two": {good, {}},
	} {
		got, err := sign(secrets, "id", time.Now(), nil)
		assert.ErrorIs(t, err, errShortSecret, name)
		assert.Equal(t, got, "", name)
	}
}
