package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxResponse is the longest body of a response, in bytes.
const maxResponse = 10 << 20

// noResponseError means that there was no complete response, so the request may have taken effect
// or not.
type noResponseError struct{ err error }

func (e *noResponseError) Error() string { return "petstore: " + e.err.Error() }
func (e *noResponseError) Unwrap() error { return e.err }

// send makes the call, with retries. The first retry keeps the call's place in the queue. Later
// ones go to the end: a call at the head would use up its attempts while another program takes each
// window.
func (c *Client) send(ctx context.Context, cl *call) (*rawResponse, error) {
	var last error
	for attempt := 0; ; attempt++ {
		queued := c.queue != nil && !cl.unmetered
		if queued {
			if err := c.queue.enter(
				ctx,
				cl.method,
				c.url(cl).Path,
				attempt == 1,
			); err != nil && last != nil &&
				ctx.Err() != nil {
				return nil, fmt.Errorf("%w; waiting to retry: %w", last, ctx.Err())
			} else if err != nil {
				return nil, cmp.Or(last, err)
			}
		}
		a, err := c.try(ctx, cl)
		// What is not counted is refused by a ban, which holds for all calls, or by a limit of its
		// own.
		if c.queue != nil && (!cl.unmetered || !errors.Is(err, CodeRateLimitExceeded)) {
			c.queue.observe(a, err, queued)
		}
		if err == nil {
			return a, nil
		}
		wait, retry := c.delay(cl, attempt, err)
		if !retry || ctx.Err() != nil || endsWithin(ctx, wait) {
			return nil, err
		}
		if ended := sleep(ctx, wait); ended != nil {
			return nil, fmt.Errorf("%w; waiting to retry: %w", err, ended)
		}
		last = err
	}
}

// try makes one attempt. With an error, it returns the response too, if there was one.
func (c *Client) try(ctx context.Context, cl *call) (*rawResponse, error) {
	req, err := c.request(ctx, cl)
	if err != nil {
		return nil, err
	}
	a, err := c.exchange(req)
	if err != nil {
		return nil, err
	}
	if cl.response != nil {
		*cl.response = a.response()
	}
	if a.status/100 == 2 || a.status == http.StatusNotModified && cl.ifNoneMatch != "" {
		return a, nil
	}
	return a, c.newError(cl, a)
}

func (c *Client) request(ctx context.Context, cl *call) (*http.Request, error) {
	// net/http can read a bytes.Reader again after a redirect.
	req, err := http.NewRequestWithContext(ctx, cl.method, c.url(cl).String(), bytes.NewReader(cl.body))
	if err != nil {
		return nil, fmt.Errorf("petstore: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if cl.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if cl.method == http.MethodPost {
		req.Header.Set("Idempotency-Key", cl.idempotencyKey)
	}
	if cl.ifMatch != "" && cl.method == http.MethodPatch {
		req.Header.Set("If-Match", cl.ifMatch)
	}
	if cl.ifNoneMatch != "" {
		req.Header.Set("If-None-Match", cl.ifNoneMatch)
	}
	return req, nil
}

// exchange sends the request and reads the whole response, so that the connection can be reused.
func (c *Client) exchange(req *http.Request) (*rawResponse, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &noResponseError{c.scrub(err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	if err != nil {
		return nil, &noResponseError{c.scrub(fmt.Errorf("%s %s: read the response: %w", req.Method, req.URL.Path, err))}
	}
	if len(body) > maxResponse {
		return nil, fmt.Errorf(
			"petstore: %s %s: the response is longer than %d bytes",
			req.Method,
			req.URL.Path,
			maxResponse,
		)
	}
	return &rawResponse{status: res.StatusCode, header: res.Header, body: body}, nil
}

// scrub removes the key from an error of net/http. Such errors quote malformed input, in which a
// server may echo the key.
func (c *Client) scrub(err error) error {
	if text := err.Error(); strings.Contains(text, c.key()) {
		return errors.New(strings.ReplaceAll(text, c.key(), redacted))
	}
	return err
}

// sleep waits for d, and returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// endsWithin reports whether the context's deadline comes before d is over.
func endsWithin(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < d
}
