package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxResponse is the longest body of a response, in bytes.
const maxResponse = 10 << 20

// noResponseError means that there was no complete response, so the request may or may not have
// taken effect.
type noResponseError struct {
	err  error
	kind error
}

// noResponse makes one from an error of net/http, from which it removes the key.
func (c *Client) noResponse(err error) *noResponseError {
	var timing interface{ Timeout() bool }
	kind := ErrConnection
	if errors.As(err, &timing) && timing.Timeout() {
		kind = ErrTimeout
	}
	return &noResponseError{c.scrub(err), kind}
}

func (e *noResponseError) Error() string        { return "petstore: " + e.err.Error() }
func (e *noResponseError) Unwrap() error        { return e.err }
func (e *noResponseError) Is(target error) bool { return target == e.kind }

// send makes the call, with retries. The first retry keeps the call's place in the queue. Later
// retries go to the end: at the head, a call would be refused again and again while another program
// uses up each window.
func (c *Client) send(ctx context.Context, cl *call) (*rawResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var last error
	for sent, tries := 0, 0; ; sent++ {
		if err := c.enter(ctx, cl, sent == 1); err != nil && last != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("%w; waiting to retry: %w", last, ctx.Err())
		} else if err != nil {
			return nil, cmp.Or(last, err)
		}
		a, err := c.try(ctx, cl)
		// A ban holds for all calls. An unmetered call that a limit refused has a limit of its own.
		if c.queue != nil && (!cl.unmetered || !errors.Is(err, CodeRateLimitExceeded)) {
			c.queue.observe(a, err, c.isQueued(cl))
		}
		if err == nil {
			return a, nil
		}
		wait, costs, retry := c.delay(cl, tries, err)
		if !retry || ctx.Err() != nil || cl.endsWithin(ctx, wait) {
			return nil, err
		}
		if ended := sleep(ctx, wait); ended != nil {
			return nil, fmt.Errorf("%w; waiting to retry: %w", err, ended)
		}
		if costs {
			tries++
		}
		last = err
	}
}

func (c *Client) isQueued(cl *call) bool { return c.queue != nil && !cl.unmetered }

// enter waits for the turn of the call. first puts it at the head of the queue.
func (c *Client) enter(ctx context.Context, cl *call, first bool) error {
	if !cl.notAfter.IsZero() && time.Now().After(cl.notAfter) {
		return errTooLate
	}
	if !c.isQueued(cl) {
		return nil
	}
	t := &turn{method: cl.method, path: c.url(cl).Path, deadline: cl.notAfter, result: make(chan error, 1)}
	if end, ok := ctx.Deadline(); ok && (t.deadline.IsZero() || end.Before(t.deadline)) {
		t.deadline = end
	}
	return c.queue.enter(ctx, t, first)
}

// try makes one attempt. With an error, it also returns the response, if there was one.
func (c *Client) try(ctx context.Context, cl *call) (*rawResponse, error) {
	req, err := c.request(ctx, cl)
	if err != nil {
		return nil, err
	}
	a, err := c.exchange(req)
	if err != nil {
		return nil, err
	}
	c.warnings.read(cl, req.URL.Path, a.header)
	if cl.response != nil {
		*cl.response = a.response()
	}
	if a.status/100 == 2 || a.status == http.StatusNotModified && cl.ifNoneMatch != "" {
		return a, nil
	}
	return a, c.newError(cl, a)
}

func (c *Client) request(ctx context.Context, cl *call) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, cl.method, c.url(cl).String(), bytes.NewReader(cl.body))
	if err != nil {
		return nil, fmt.Errorf("petstore: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.keys.current())
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
		return nil, c.noResponse(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	if err != nil {
		return nil, c.noResponse(fmt.Errorf("%s %s: read the response: %w", req.Method, req.URL.Path, err))
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
	if text := err.Error(); c.keys.redact(text) != text {
		return errors.New(c.keys.redact(text))
	}
	return err
}

// sleep waits for d, and returns the context's error if the context ends first.
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

// endsWithin reports whether the context's deadline, or that of the call, comes before d is over.
func (cl *call) endsWithin(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < d || !cl.notAfter.IsZero() && time.Until(cl.notAfter) < d
}
