package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// minSecret is the least number of bytes that Standard Webhooks allows for a secret.
const minSecret = 24

var errShortSecret = errors.New("the secret is shorter than 24 bytes")

// sign returns the header webhook-signature of Standard Webhooks 1.0: one signature with each
// secret. Libraries accept an empty secret, so this refuses short ones.
func sign(secrets [][]byte, id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		if len(secret) < minSecret {
			return "", errShortSecret
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) == 0 {
		return "", errShortSecret
	}
	return strings.Join(signatures, " "), nil
}
