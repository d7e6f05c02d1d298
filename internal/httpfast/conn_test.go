package httpfast

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
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

// TestConnContext: all requests of a connection, whoever serves them, have what the server's ConnContext gave it.
func TestConnContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	var conns, fast atomic.Int64
	addr, _ := serve(t, &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, isFast := r.Context().(*requestContext); isFast {
				fast.Add(1)
			}
			_, _ = fmt.Fprint(w, r.Context().Value(key{}))
		}),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, key{}, conns.Add(1))
		},
	})
	for want := range 2 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		read := bufio.NewReader(c)
		for range 3 {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(read, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != strconv.Itoa(want+1) {
				t.Errorf("%q, %v: want %d", body, err, want+1)
			}
			time.Sleep(time.Millisecond) // net/http ends a request after it is answered.
		}
	}
	if fast.Load() == 0 {
		t.Error("no request was fast")
	}
}
