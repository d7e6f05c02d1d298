package httpfast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve starts a server on a listener of this package and returns its address.
func serve(t *testing.T, s *http.Server) (addr string, on *Listener) {
	t.Helper()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(plain)
	s.ConnContext = Context
	run(t, s, l)
	return plain.Addr().String(), l
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
			t.Error("the sweep goes on without listener and connections")
		}
	})
}

// plainServer is net/http's alone.
func plainServer(t *testing.T, h http.Handler) (addr string) {
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

// TestHead: the lines stand in the answer that they were left for, behind its status line, and in no other.
func TestHead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	addr, _ := serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n := r.Header.Get("N")
		if n != "none" {
			c := From(r.Context())
			c.Head = fmt.Appendf(c.Head[:0], "X-One: %s\r\nX-Two: 2\r\n", n)
		}
		w.Header()["Date"] = nil
		w.Header().Set("X-Map", n)
		switch r.URL.Path {
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/long":
			_, _ = io.WriteString(w, long)
		case "/panic":
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, n)
		}
	})})
	c := dial(t, addr)
	answers := bufio.NewReader(c)
	for i, tt := range []struct {
		method, path, n, more string
		want                  string
	}{
		{"GET", "/", "a", "", "HTTP/1.1 200 OK\r\nX-One: a\r\nX-Two: 2\r\nX-Map: a\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\na"},
		{"HEAD", "/", "b", "", "HTTP/1.1 200 OK\r\nX-One: b\r\nX-Two: 2\r\nX-Map: b\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"},
		{"GET", "/304", "c", "", "HTTP/1.1 304 Not Modified\r\nX-One: c\r\nX-Two: 2\r\nX-Map: c\r\n\r\n"},
		{"GET", "/", "none", "", "HTTP/1.1 200 OK\r\nX-Map: none\r\nContent-Length: 4\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nnone"},
		{"POST", "/", "d", "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-One: d\r\nX-Two: 2\r\nX-Map: d\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nd"},
		// Two at once: the second waits in the server's buffer while the first is answered.
		{"GET", "/", "e", "\r\nGET / HTTP/1.1\r\nHost: x\r\nN: f\r\n\r\n", "HTTP/1.1 200 OK\r\nX-One: e\r\nX-Two: 2\r\nX-Map: e\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\ne" +
			"HTTP/1.1 200 OK\r\nX-One: f\r\nX-Two: 2\r\nX-Map: f\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nf"},
	} {
		more := tt.more
		if more == "" {
			more = "\r\n"
		}
		if _, err := io.WriteString(c, tt.method+" "+tt.path+" HTTP/1.1\r\nHost: x\r\nN: "+tt.n+"\r\n"+more); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(tt.want))
		if _, err := io.ReadFull(answers, got); err != nil {
			t.Fatalf("%d: %v after %q", i, err, got)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := io.WriteString(c, "GET /long HTTP/1.0\r\nN: g\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(answers)
	head, body, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
	want := "HTTP/1.0 200 OK\r\nX-One: g\r\nX-Two: 2\r\nX-Map: g\r\nContent-Type: text/plain; charset=utf-8"
	if err != nil || string(head) != want || string(body) != long {
		t.Errorf("%v, %q and %d bytes", err, head, len(body))
	}
}

// TestLongHead: a long Head arrives whole, and an idle connection does not hold on to its room.
func TestLongHead(t *testing.T) {
	t.Parallel()
	rooms := make(chan int, 2)
	addr, _ := serve(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := From(r.Context())
		rooms <- cap(c.Head)
		c.Head = append(append(append(c.Head[:0], "X-Long: "...), strings.Repeat("x", 50_000)...), "\r\n"...)
	})})
	c := dial(t, addr)
	answers := bufio.NewReader(c)
	for range 2 {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := len(res.Header.Get("X-Long")); got != 50_000 {
			t.Errorf("%d bytes arrived", got)
		}
		if room := <-rooms; room > keptHead {
			t.Errorf("the connection kept room for %d bytes", room)
		}
	}
}

// TestFromElsewhere: without a listener of ours there is no connection to leave a head with.
func TestFromElsewhere(t *testing.T) {
	t.Parallel()
	plain, other := net.Pipe()
	defer func() { _, _ = plain.Close(), other.Close() }()
	if c := From(Context(context.Background(), plain)); c != nil {
		t.Errorf("got %v", c)
	}
}
