package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/envvars"
	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
)

// TestLongHeads: a head over 32 KiB is 431 whatever came before it on the connection, and one below
// is served.
func TestLongHeads(t *testing.T) {
	t.Parallel()
	const short = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	head := func(line, name string, length int) string {
		start, end := line+" HTTP/1.1\r\nHost: x\r\n"+name+": ", "\r\n\r\n"
		return start + strings.Repeat("x", length-len(start)-len(end)) + end
	}
	for _, c := range []struct {
		name   string
		before []string
		head   string
		status int
	}{
		{"first, of 32 KiB", nil, head("GET /", "X", 32<<10), 200},
		{"first, longer", nil, head("GET /", "X", 32<<10+1), 431},
		{"second, of 32 KiB", []string{short}, head("GET /", "X", 32<<10), 200},
		{"second, longer", []string{short}, head("GET /", "X", 32<<10+1), 431},
		{"second, after a long one", []string{head("GET /", "X", 31<<10)}, head("GET /", "X", 33<<10), 431},
		{"after fast ones", []string{short, short, short}, head("GET /", "X", 33<<10), 431},
		{"a long target", []string{short}, "GET /" + strings.Repeat("x", 33<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		{"many fields", []string{short}, "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: 4\r\n", 33<<10/6) +
			"\r\n", 431},
		{"a long host", []string{short}, "GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 33<<10) + "\r\n\r\n", 431},
		{"a body", []string{short}, head("POST /", "Content-Length: 4\r\nX", 33<<10) + "body", 431},
		{"far longer", []string{short}, head("GET /", "X", 100<<10), 431},
	} {
		for _, fastPath := range []envvars.Switch{true, false} {
			t.Run(c.name+", fast path "+fastPath.String(), func(t *testing.T) {
				t.Parallel()
				conn := dialAPI(t, &config.Config{HTTPFastPath: fastPath})
				read := bufio.NewReader(conn)
				for _, request := range c.before {
					if res := ask(t, conn, read, request); res.StatusCode != 200 || res.Close {
						t.Fatalf("before: %d, closes %v", res.StatusCode, res.Close)
					}
				}
				res := ask(t, conn, read, c.head)
				if res.StatusCode != c.status || res.Close != (c.status == 431) {
					t.Errorf("%d, closes %v, want %d", res.StatusCode, res.Close, c.status)
				}
				if media := res.Header.Get("Content-Type"); c.status == 431 && media != "text/plain; charset=utf-8" {
					t.Errorf("Content-Type %q", media)
				}
			})
		}
	}
}

// dialAPI connects to a server that is made as the API's, until the test ends. Its handler answers
// 200.
func dialAPI(t *testing.T, cfg *config.Config) net.Conn {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	server, listener, _ := newAPIServer(
		cfg,
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		on,
		zerolog.Nop(),
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", on.Addr().String())
	assert.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	assert.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return conn
}

func ask(t *testing.T, conn net.Conn, read *bufio.Reader, request string) *http.Response {
	t.Helper()
	// A server that has refused the head need not read all of it.
	_, _ = io.WriteString(conn, request)
	res, err := http.ReadResponse(read, nil)
	assert.NoError(t, err)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res
}
