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
)

// call is one operation with its arguments. All its tries send the same.
type call struct {
	method string
	// path is below the base URL, without a slash before it.
	path           string
	query          url.Values
	ifNoneMatch    string
	idempotencyKey string
	body           []byte
	response       *Response
	// free calls are answered also when the key's limit is used up.
	free bool
}

// CallOption changes one call.
type CallOption func(*call) error

// IdempotencyKey names what a POST wants to have done, in 1 to 255 visible ASCII characters other than " and \. Calls with the
// same key and arguments within 24 h make one animal or order, also from different processes: the later ones return what the
// first made. Give one to be able to call again after an error. Without this option each call of [Client.CreatePet] and [Client.PlaceOrder] has a random key of its own, which
// covers its tries. Other operations take no notice.
func IdempotencyKey(key string) CallOption {
	return func(cl *call) error {
		if !isVisible(key) || len(key) > 255 || strings.ContainsAny(key, `"\`) {
			return errors.New(`petstore: an idempotency key must be 1 to 255 visible ASCII characters other than " and \`)
		}
		cl.idempotencyKey = key
		return nil
	}
}

// CaptureResponse puts what is known of the last answer that the call received into r, whether the call succeeds or not. Of an
// iterator's calls, each overwrites the one before.
func CaptureResponse(r *Response) CallOption {
	return func(cl *call) error {
		cl.response = r
		return nil
	}
}

// do makes the call with in as its body, unless in is nil, and reads the answer's body into out.
func (c *Client) do(ctx context.Context, cl *call, in, out any, opts []CallOption) (*answer, error) {
	for _, opt := range opts {
		if err := opt(cl); err != nil {
			return nil, err
		}
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("petstore: write the body: %w", err)
		}
		cl.body = body
	}
	if cl.method == http.MethodPost && cl.idempotencyKey == "" {
		cl.idempotencyKey = randomKey()
	}
	a, err := c.send(ctx, cl)
	if err != nil || a.status == http.StatusNotModified {
		return a, err
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return nil, fmt.Errorf("petstore: %s %s: read the answer: %w", cl.method, c.url(cl).Path, err)
	}
	return a, nil
}

// randomKey returns 128 random bits.
func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	return hex.EncodeToString(b[:])
}

// repeatable tells whether a second request can do no harm when it isn't known whether the first was carried out.
func (cl *call) repeatable() bool {
	return cl.method == http.MethodGet || cl.method == http.MethodPost && cl.idempotencyKey != ""
}

func (c *Client) url(cl *call) *url.URL {
	u := c.base.JoinPath(cl.path)
	u.RawQuery = cl.query.Encode()
	return u
}
