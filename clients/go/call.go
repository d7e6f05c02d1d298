package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// call is one operation with its arguments. All attempts send the same request.
type call struct {
	method string
	// path is relative to the base URL, without a leading slash.
	path           string
	query          url.Values
	ifNoneMatch    string
	ifMatch        string
	idempotencyKey string
	body           []byte
	response       *Response
	// unmetered calls work even if the key's limit is used up.
	unmetered bool
	// repeatable marks a POST that may be sent again if it may have taken effect. The response to
	// one that issues a key can't be had twice.
	repeatable bool
	// notAfter is when the last attempt may begin, zero for any time.
	notAfter time.Time
}

// CallOption configures one call.
type CallOption func(*call) error

// IdempotencyKey sets the Idempotency-Key of a POST: 1 to 255 visible ASCII characters other than "
// and \. Calls with the same key and arguments within 24 hours create one animal, order, key
// or webhook, also from different processes: later calls return the first one's result. Use it to
// repeat a call safely after an error. Without this option each call of [Client.CreatePet],
// [Client.PlaceOrder], [Client.CreateKey], [Client.RotateKey] and [Client.CreateWebhook] has a random
// key, which covers its retries. Other operations ignore it.
func IdempotencyKey(key string) CallOption {
	return func(cl *call) error {
		if !isVisible(key) || len(key) > 255 || strings.ContainsAny(key, `"\`) {
			return errors.New(
				`petstore: an idempotency key must be 1 to 255 visible ASCII characters other than " and \`,
			)
		}
		cl.idempotencyKey = key
		return nil
	}
}

// IfMatch makes [Client.UpdatePet], [Client.UpdateOrder], [Client.UpdateKey] and
// [Client.UpdateWebhook] change an animal, order, key or webhook only if it still has this ETag.
// The ETag is in [Response.ETag], or in the [PetPage] of a list of one animal. Otherwise they fail
// with [CodePreconditionFailed]. The weak form of an ETag, which compression makes, works too.
// Other operations ignore it.
func IfMatch(etag string) CallOption {
	return func(cl *call) error {
		etag := strings.TrimPrefix(etag, "W/")
		if len(etag) < 2 || !isVisible(etag) || etag != `"`+strings.ReplaceAll(etag, `"`, "")+`"` {
			return errors.New("petstore: an ETag must be in double quotes, as it was received")
		}
		cl.ifMatch = etag
		return nil
	}
}

// CaptureResponse stores the last response that the call received in r, whether or not the call
// succeeds. Each page of an iterator overwrites it.
func CaptureResponse(r *Response) CallOption {
	return func(cl *call) error {
		cl.response = r
		return nil
	}
}

// do makes the call and decodes the response into out, unless that is nil. in is its body, nil for
// none.
func (c *Client) do(ctx context.Context, cl *call, in, out any, opts []CallOption) (*rawResponse, error) {
	for _, opt := range opts {
		if err := opt(cl); err != nil {
			return nil, err
		}
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("petstore: encode the body: %w", err)
		}
		cl.body = body
	}
	if cl.method == http.MethodPost && cl.idempotencyKey == "" {
		cl.idempotencyKey = randomKey()
	}
	a, err := c.send(ctx, cl)
	if err != nil || a.status == http.StatusNotModified || out == nil {
		return a, err
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return nil, fmt.Errorf("petstore: %s %s: decode the response: %w", cl.method, c.url(cl).Path, err)
	}
	return a, nil
}

// fetch makes the call as do does, and returns the decoded response.
func fetch[T any](ctx context.Context, c *Client, cl *call, in any, opts []CallOption) (*T, error) {
	var out T
	if _, err := c.do(ctx, cl, in, &out, opts); err != nil {
		return nil, err
	}
	return &out, nil
}

// randomKey returns 128 random bits.
func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails.
	return hex.EncodeToString(b[:])
}

// isRepeatable reports whether repeating the request is harmless if the first one may have taken
// effect.
func (cl *call) isRepeatable() bool { return cl.method == http.MethodGet || cl.repeatable }

func (c *Client) url(cl *call) *url.URL {
	u := c.base.JoinPath(cl.path)
	u.RawQuery = cl.query.Encode()
	return u
}
