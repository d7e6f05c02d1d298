package httpfast

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"
)

// serve starts a server on a listener of this package and returns its address.
func serve(t *testing.T, s *http.Server) (addr string, wrapped *Listener) {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := WrapServer(s, on)
	run(t, s, l)
	return on.Addr().String(), l
}

// run serves until the test ends, and sees to it that nothing is left then.
func run(t *testing.T, s *http.Server, l *Listener) {
	t.Helper()
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		select {
		case <-l.over:
		case <-time.After(10 * time.Second):
			t.Error("the listener does not notice that its last connection is closed")
		}
	})
}

// netHTTPServer serves h with net/http alone, and returns its address.
func netHTTPServer(t *testing.T, h http.Handler) (addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
