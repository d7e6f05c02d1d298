package httpfast

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// recording notes how net/http uses a connection.
type recording struct {
	net.Conn
	mu     sync.Mutex
	events []string
}

func (r *recording) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

// waits reports whether a request has ended and the next one is read.
func (r *recording) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.events, "write") && r.events[len(r.events)-1] == "read 4096"
}

func (r *recording) Read(p []byte) (int, error) {
	if len(p) > 1 { // One byte is the watch for a disconnect.
		r.note("read %d", len(p))
	}
	return r.Conn.Read(p)
}

func (r *recording) Write(p []byte) (int, error) {
	r.note("write")
	return r.Conn.Write(p)
}

func (r *recording) SetReadDeadline(at time.Time) error {
	if at.After(longAgo) {
		r.note("deadline")
	}
	return r.Conn.SetReadDeadline(at)
}

// oneConn is a listener with one connection.
type oneConn struct {
	net.Listener
	conn chan net.Conn
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, io.EOF
	}
	return c, nil
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestNetHTTPIsAsExpected: between two requests net/http does what the fast path relies on, in this
// order. A new release of Go that does otherwise turns the fast path off; see
// docs/adr/0010-fast-path.md.
func TestNetHTTPIsAsExpected(t *testing.T) {
	t.Parallel()
	client, served := net.Pipe()
	r, l := &recording{Conn: served}, &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- r
	s := &http.Server{
		ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute,
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }),
		ConnState: func(_ net.Conn, state http.ConnState) { r.note("%v", state) },
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	for range 2 {
		_, err := ask(client, "/")
		assert.NoError(t, err)
		// A request that comes before net/http waits for it loses its first byte to the watch for a
		// disconnect.
		for end := time.Now().Add(hangTimeout); !r.waits(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("net/http no longer waits for the next request: %q; see docs/adr/0010-fast-path.md", r.events)
			}
		}
	}
	_ = client.Close()
	close(l.conn)
	assert.ErrorIs(t, <-done, io.EOF)
	for _, want := range [][]string{
		{"new", "deadline", "read 4096", "active"},
		{"active", "write", "idle", "deadline", "read 4096", "deadline", "active"},
	} {
		r.mu.Lock()
		if !strings.Contains(fmt.Sprintf("%q", r.events), strings.Trim(fmt.Sprintf("%q", want), "[]")) {
			t.Errorf(
				"net/http no longer does %q with a connection, but %q; see docs/adr/0010-fast-path.md",
				want,
				r.events,
			)
		}
		r.mu.Unlock()
	}
}
