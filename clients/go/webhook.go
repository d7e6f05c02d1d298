package client

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultTolerance is how far the time of a webhook may be from this machine's.
	defaultTolerance = 5 * time.Minute
	// minSecret is the shortest secret, in bytes.
	minSecret = 24
)

// Event is a verified webhook. Expect types that are new.
type Event struct {
	// ID is the same in each delivery of an event: handle it once.
	ID        string    `json:"-"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// Data depends on the Type. IDs in it are strings.
	Data json.RawMessage `json:"data"`
}

// VerifyWebhook checks that a webhook was signed with one of the secrets, at most tolerance ago or
// ahead, and returns it. body are the bytes as they came. A tolerance of 0 is 5 minutes. It follows
// Standard Webhooks 1.0. No error has a secret.
func VerifyWebhook(secrets []string, header http.Header, body []byte, tolerance time.Duration) (*Event, error) {
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if len(secrets) == 0 || id == "" {
		return nil, errors.New("petstore: the webhook has no webhook-id, or there is no secret")
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	tolerance = cmp.Or(tolerance, defaultTolerance)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return nil, errors.New("petstore: the time of the webhook is too far from this machine's")
	}
	signed := false
	for _, secret := range secrets {
		key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < minSecret || strings.ContainsAny(secret, "\r\n") {
			return nil, errors.New("petstore: a webhook secret must be base64 of at least 24 bytes")
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + at + "." + string(body))) // A hash never fails.
		want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, got := range strings.Fields(strings.Join(header.Values("webhook-signature"), " ")) {
			signed = hmac.Equal([]byte(got), want) || signed
		}
	}
	if !signed {
		return nil, errors.New("petstore: no signature of the webhook is right")
	}
	event := Event{ID: id}
	if err := json.Unmarshal(body, &event); err != nil || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return nil, errors.New("petstore: the body of the webhook is not an event")
	}
	return &event, nil
}
