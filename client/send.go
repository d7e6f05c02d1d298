package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 10 << 20

// lostError means that no whole answer came: nobody knows whether the request was carried out.
type lostError struct{ err error }

func (e *lostError) Error() string { return "petstore: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// send makes the call, again where that is due, until there is an answer to return.
func (c *Client) send(ctx context.Context, cl *call) (*answer, error) {
	for try := 0; ; try++ {
		a, err := c.try(ctx, cl)
		if err == nil {
			return a, nil
		}
		wait, again := c.delay(cl, try, err)
		if !again || ctx.Err() != nil || endsWithin(ctx, wait) {
			return nil, err
		}
		if ended := c.sleep(ctx, wait); ended != nil {
			return nil, fmt.Errorf("%w; %w before it could be tried again", err, ended)
		}
	}
}

// try sends the request once. While the key's limit is known to be used up, it answers itself, unless the call is free.
func (c *Client) try(ctx context.Context, cl *call) (*answer, error) {
	if e := c.held.refusal(cl.method, c.url(cl).Path, c.now()); e != nil && !cl.free {
		return nil, e
	}
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
	e := c.newError(cl, a)
	if c.maxRetries > 0 && e.RetryAfter <= c.maxWait {
		c.held.note(e, c.now())
	}
	return nil, e
}

func (c *Client) request(ctx context.Context, cl *call) (*http.Request, error) {
	// Of a bytes.Reader net/http knows how to read it again.
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
	if cl.ifNoneMatch != "" {
		req.Header.Set("If-None-Match", cl.ifNoneMatch)
	}
	return req, nil
}

// exchange sends the request and reads all of the answer, so that the connection can be used again.
func (c *Client) exchange(req *http.Request) (*answer, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &lostError{c.scrub(err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, &lostError{c.scrub(fmt.Errorf("%s %s: read the answer: %w", req.Method, req.URL.Path, err))}
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("petstore: %s %s: the answer is longer than %d bytes", req.Method, req.URL.Path, maxAnswer)
	}
	return &answer{status: res.StatusCode, header: res.Header, body: body}, nil
}

// scrub takes the key out of an error of net/http, which quotes what it can't read: somebody may send the key back.
func (c *Client) scrub(err error) error {
	if text := err.Error(); strings.Contains(text, c.key()) {
		return errors.New(strings.ReplaceAll(text, c.key(), redacted))
	}
	return err
}

// sleep returns the context's error when it ends before d is over.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// endsWithin tells whether the context's deadline comes before d is over.
func endsWithin(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < d
}
