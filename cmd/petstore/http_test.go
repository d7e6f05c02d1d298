package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"petstore.example/internal/loglimit"
)

// TestResponsesOfNetHTTP: docs/errors.md lists the statuses that net/http itself sends.
func TestResponsesOfNetHTTP(t *testing.T) {
	t.Parallel()
	const host, long = "Host: x\r\n", 33 << 10
	answered := map[string]bool{}
	for _, c := range []struct {
		name, request string
		status        int
		media         string
	}{
		{"no HTTP", "hello\r\n\r\n", 400, "text/plain"},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "text/plain"},
		{"another Expect", "GET / HTTP/1.1\r\n" + host + "Expect: x\r\n\r\n", 417, ""},
		{"long headers", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", long) + "\r\n\r\n", 431, "text/plain"},
		{"a long target", "GET /" + strings.Repeat("x", long) + " HTTP/1.1\r\n" + host + "\r\n", 431, "text/plain"},
		{"another coding", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", 501, "text/plain"},
		{"another version", "GET / HTTP/3.0\r\n" + host + "\r\n", 505, "text/plain"},
	} {
		res := exchange(t, c.request)
		media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
		if res.StatusCode != c.status || media != c.media || !res.Close {
			t.Errorf("%s: %d %q, closes %v, want %d %q and to close", c.name, res.StatusCode, media, res.Close, c.status, c.media)
		}
		answered[strconv.Itoa(c.status)] = true
	}
	document, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{3}) \| [^|]+ \|$`).FindAllStringSubmatch(string(document), -1) {
		documented[m[1]] = true
	}
	if diff := cmp.Diff(answered, documented); diff != "" {
		t.Errorf("(-answered +documented):\n%s", diff)
	}
}

// exchange sends a request to a server whose handler it must not reach, and returns the head of the answer.
func exchange(t *testing.T, request string) *http.Response {
	t.Helper()
	server := newHTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Errorf("%.40q reached the API", request)
	}), zerolog.Nop())
	closed := make(chan struct{})
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln)
	}()
	defer func() {
		_ = server.Close()
		<-done
	}()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.40q: %v", request, err)
	}
	_ = res.Body.Close()
	// net/http waits for the client to close first, so that the answer is not lost.
	<-closed
	return res
}

// TestServerErrorsAreOneKind: what net/http has to say differs by the client's address, and is one line a second nevertheless.
func TestServerErrorsAreOneKind(t *testing.T) {
	t.Parallel()
	// In simulated time the second does not end, after which the limiter reports what it suppressed.
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := newHTTPServer(nil, loglimit.Log(zerolog.New(&out))).ErrorLog
		log.Print("http: panic serving 192.0.2.1:1111\n")
		log.Print("http: panic serving 192.0.2.2:2222\n")
		want := `{"level":"warn","error":"http: panic serving 192.0.2.1:1111","message":"HTTP server"}` + "\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
