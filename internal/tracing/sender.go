package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// sendTries is how often a batch is sent. The pauses between them double, beginning with firstPause.
	sendTries  = 4
	firstPause = 500 * time.Millisecond
	// maxPause is the longest Retry-After that is heeded.
	maxPause = 10 * time.Second
	maxReply = 64 << 10
)

// sender sends batches to a collector.
type sender struct {
	client   *http.Client
	endpoint string
	headers  http.Header
	gzip     bool
	pause    time.Duration
}

func newSender(c Config) *sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
	}
	return &sender{
		// A redirect could take the headers to another host.
		client: &http.Client{
			Transport: transport, Timeout: c.timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		endpoint: c.Endpoint, headers: c.headers(), gzip: c.gzip, pause: firstPause,
	}
}

// retryError is a failure after which the same batch may be taken, after that pause or a pause of the sender's.
type retryError struct {
	error
	after time.Duration
}

// send sends a body, again if that may help and nobody has begun to stop. It returns how many spans the collector did not take.
func (s *sender) send(ctx context.Context, body []byte, stopped <-chan struct{}) (refused int64, err error) {
	if s.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // A buffer takes everything.
		_ = w.Close()
		body = packed.Bytes()
	}
	pause := s.pause
	for try := 1; ; try++ {
		refused, err = s.post(ctx, body)
		again, ok := errors.AsType[retryError](err)
		if !ok || try == sendTries {
			return refused, err
		}
		wait := time.NewTimer(max(again.after, pause/2+rand.N(pause))) //nolint:gosec // Only to keep servers apart.
		select {
		case <-wait.C:
		case <-stopped:
			wait.Stop()
			return 0, err
		}
		pause *= 2
	}
}

func (s *sender) post(ctx context.Context, body []byte) (refused int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, values := range s.headers {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "petstore")
	if s.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := s.client.Do(req)
	if err != nil {
		// Without the URL, which may hold a secret.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, retryError{error: fmt.Errorf("reach the collector: %w", err)}
	}
	defer func() { _ = res.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return rejected(reply), nil
	case err != nil:
		return 0, retryError{error: fmt.Errorf("read the collector's reply: %w", err)}
	}
	err = fmt.Errorf("the collector answered %s", res.Status)
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return 0, retryError{err, min(maxPause, max(0, time.Duration(seconds)*time.Second))}
	}
	return 0, err
}
