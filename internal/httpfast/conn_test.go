package httpfast

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// serve starts a server on a listener of this package and returns its address. Nothing is left of
// it when the test ends.
func serve(t *testing.T, s *http.Server) (addr string, l *Listener) {
	t.Helper()
	t.Cleanup(func() {
		select {
		case <-l.over:
		case <-time.After(hangTimeout):
			t.Error("the listener does not notice that its last connection is closed")
		}
	})
	addr = serveOn(t, s, func(on net.Listener) net.Listener {
		l = WrapServer(s, on)
		return l
	})
	return addr, l
}

// serveOn serves, until the test ends, on what wrap makes of a loopback port, and returns its
// address.
func serveOn(t testing.TB, s *http.Server, wrap func(net.Listener) net.Listener) (addr string) {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	done := make(chan error)
	l := wrap(on)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return on.Addr().String()
}

// unwrapped is for serveOn: it leaves the port to net/http.
func unwrapped(l net.Listener) net.Listener { return l }

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConnContext: all requests of a connection, whoever serves them, have what the server's
// ConnContext gave it.
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
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if _, ok := c.(*net.TCPConn); !ok {
				t.Errorf("ConnContext got a %T, want what the listener accepted", c)
			}
			return context.WithValue(ctx, key{}, conns.Add(1))
		},
	})
	for want := range 2 {
		c := dial(t, addr)
		read := bufio.NewReader(c)
		for range 3 {
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			assert.NoError(t, err)
			res, err := http.ReadResponse(read, nil)
			assert.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			assert.Result(t, string(body), err, strconv.Itoa(want+1), want+1)
			time.Sleep(time.Millisecond) // net/http ends a request after it is answered.
		}
	}
	assert.True(t, fast.Load() != 0, "no request was fast")
}
