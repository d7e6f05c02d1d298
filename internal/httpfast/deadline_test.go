package httpfast

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// late is how much later than it should a connection may end on a busy machine.
const late = 5 * time.Second

// TestTimeouts: net/http's own hold on a Conn, somewhat later: of a slow header, a slow body, an idle connection and a client
// that does not read.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for name, tt := range map[string]struct {
		server  *http.Server
		request string
	}{
		"header": {&http.Server{ReadHeaderTimeout: timeout}, "GET / HTTP/1.1\r\nHost: x\r\n"},
		"body":   {&http.Server{ReadTimeout: timeout}, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"},
		"idle":   {&http.Server{IdleTimeout: timeout}, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
		"write":  {&http.Server{WriteTimeout: timeout}, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			tt.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				for r.URL.Path == "/endless" && err == nil {
					_, err = w.Write(make([]byte, 64<<10))
				}
				ended <- err
			})
			tt.server.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed {
					ended <- os.ErrDeadlineExceeded
				}
			}
			addr, _ := serve(t, tt.server)
			c := dial(t, addr)
			start := time.Now()
			if _, err := io.WriteString(c, tt.request); err != nil {
				t.Fatal(err)
			}
			if name == "idle" {
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
			}
			err := <-ended
			took := time.Since(start)
			if !errors.Is(err, os.ErrDeadlineExceeded) || took < timeout-100*time.Millisecond || took > timeout+late {
				t.Errorf("%v after %v, want a timeout after %v", err, took, timeout)
			}
		})
	}
}

// TestDeadlines: a deadline that was moved away or taken back does not end anything, one that is near is exact, and one
// that is over ends a read at once.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(plain)
	defer func() { _ = l.Close() }()
	client := dial(t, plain.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	read := func(within time.Duration, want error) {
		t.Helper()
		start := time.Now()
		_, err := c.Read(make([]byte, 1))
		if took := time.Since(start); !errors.Is(err, want) || took > within {
			t.Errorf("%v after %v, want %v within %v", err, took, want, within)
		}
	}
	set := func(at time.Time) {
		t.Helper()
		if err := c.SetReadDeadline(at); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Now().Add(50 * time.Millisecond))
	read(sweepEvery, os.ErrDeadlineExceeded)
	read(sweepEvery, os.ErrDeadlineExceeded)
	set(time.Unix(1, 0))
	read(sweepEvery, os.ErrDeadlineExceeded)
	// Once over and swept, it can still be moved.
	set(time.Now().Add(5 * sweepEvery))
	read(5*sweepEvery+late, os.ErrDeadlineExceeded)
	set(time.Time{})
	time.AfterFunc(3*sweepEvery, func() { _, _ = client.Write([]byte("x")) })
	read(3*sweepEvery+late, nil)
	// A read that waits already is ended, by another goroutine.
	time.AfterFunc(50*time.Millisecond, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	read(late, os.ErrDeadlineExceeded)
}
