package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Target is one request, to be sent again and again, and the answer that it must get.
type Target struct {
	URL    string // http://127.0.0.1:port/path
	Header http.Header

	Status int
	Body   []byte
}

// Fetch sends the request once and returns the answer's status, its body and its size on the wire, header included.
func (t Target) Fetch(ctx context.Context) (status int, body []byte, wire int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return 0, nil, 0, err
	}
	req.Header = t.Header.Clone()
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return 0, nil, 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, nil, 0, err
	}
	if err := req.Write(conn); err != nil {
		return 0, nil, 0, err
	}
	counted := &countingReader{from: conn}
	buffered := bufio.NewReader(counted)
	resp, err := http.ReadResponse(buffered, req)
	if err != nil {
		return 0, nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, counted.n - int64(buffered.Buffered()), err
}

// check returns the size of the answer on the wire, or an error unless it is the right one.
func (t Target) check(ctx context.Context) (int64, error) {
	status, body, wire, err := t.Fetch(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("check the answer: %w", err)
	case status != t.Status:
		return 0, fmt.Errorf("the answer is %d, want %d: %.300s", status, t.Status, body)
	case !bytes.Equal(body, t.Body):
		return 0, fmt.Errorf("the answer's body is not the one wanted (%d bytes, want %d): %.300s", len(body), len(t.Body), body)
	}
	return wire, nil
}

type countingReader struct {
	from io.Reader
	n    int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	return n, err
}
