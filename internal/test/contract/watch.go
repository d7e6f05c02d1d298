package contract

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Handler returns h unchanged, except that all its exchanges are checked. Exchanges that end in a
// panic are not checked.
func (d *Document) Handler(h http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := &capture{ReadCloser: r.Body}
		watched := r.Clone(r.Context())
		if r.Body != nil {
			watched.Body = sent
		}
		answer := &recorder{ResponseWriter: w}
		h.ServeHTTP(answer, watched)
		answer.begin(http.StatusOK)
		x := Exchange{
			Request:     r,
			RequestBody: sent.bytes(),
			Status:      answer.status,
			Header:      answer.header,
			Body:        answer.body.Bytes(),
		}
		if err := d.Check(x); err != nil {
			report(err)
		}
	})
}

// capture keeps the bytes that are read. They may still arrive while the server responds.
type capture struct {
	io.ReadCloser
	mu   sync.Mutex
	read []byte
}

func (c *capture) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = append(c.read, p[:n]...)
	return n, err
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.read)
}

// recorder keeps the response that it passes on.
type recorder struct {
	http.ResponseWriter
	once   sync.Once
	status int
	header http.Header
	body   bytes.Buffer
}

// begin records the status, and copies the headers, when they are sent.
func (r *recorder) begin(status int) {
	r.once.Do(func() { r.status, r.header = status, r.ResponseWriter.Header().Clone() })
}

func (r *recorder) WriteHeader(status int) {
	r.begin(status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.begin(http.StatusOK)
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Transport returns base, except that all its exchanges are checked. Responses are read completely
// before they are passed on.
func (d *Document) Transport(base http.RoundTripper, report func(error)) http.RoundTripper {
	return transport{base, d, report}
}

type transport struct {
	base     http.RoundTripper
	document *Document
	report   func(error)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &capture{ReadCloser: r.Body}
	watched := r
	if r.Body != nil && r.Body != http.NoBody {
		watched = r.Clone(r.Context())
		watched.Body = sent
	}
	res, err := t.base.RoundTrip(watched)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	x := Exchange{
		Request:      r,
		RequestBody:  sent.bytes(),
		Status:       res.StatusCode,
		Header:       res.Header,
		Body:         body,
		Uncompressed: res.Uncompressed,
	}
	if err := t.document.Check(x); err != nil {
		t.report(err)
	}
	return res, nil
}
