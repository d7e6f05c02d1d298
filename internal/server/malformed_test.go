package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/api"
	"petstore.example/internal/api/gate"
	"petstore.example/internal/envvars"
	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
)

// TestMalformedRequest: what net/http does not take for a request gets an error in the API's form,
// also after other requests on the connection. A long head and another version of HTTP keep
// net/http's own text. All answers have the limits of the connection's address.
func TestMalformedRequest(t *testing.T) {
	t.Parallel()
	for _, fastPath := range []envvars.Switch{true, false} {
		sent, counted := int64(0), &countedAddress{}
		cfg := config.Config{HTTPFastPath: fastPath, MaxConnections: 100, BaseURL: "https://api.example.com/v1"}
		on, err := Listen(t.Context(), Address{Addr: "127.0.0.1:0"}, Address{Addr: "127.0.0.1:0"})
		assert.NoError(t, err)
		t.Cleanup(on.Close)
		on.API = &malformedListener{on.API, api.NewMalformed(api.Config{
			Limits: api.Limits{
				Addresses: counted,
			},
			Site: api.Site{
				BaseURL: cfg.BaseURL,
			},
		})}
		_, err = on.limitConnections(&cfg, prometheus.NewRegistry())
		assert.NoError(t, err)
		server, listener, _ := newAPIServer(
			&cfg,
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			on.API,
			zerolog.Nop(),
		)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		answered := map[string]bool{}
		for request, want := range map[string]int{
			"hello\r\n\r\n": 400,
			"GET /v1/pets/%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                        400,
			"GET /v1/pets HTTP/1.1\r\n\r\n":                                                       400,
			"GET /v1/pets HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n":                             400,
			"GET /v1/pets HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \x7f\r\n\r\n":                   400,
			"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": 400,
			"POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":                501,
			"GET /v1/pets HTTP/3.0\r\nHost: x\r\n\r\n":                                            505,
			"GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n":                               417,
			"GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 33<<10) + "\r\n\r\n":  431,
		} {
			for _, before := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
				sent++
				checkMalformed(t, on.API.Addr(), before, request, want)
			}
			answered[strconv.Itoa(want)] = true
		}
		assert.DeepEqual(t, answered, documentedOfNetHTTP(t), "-docs/errors.md +answered")
		checkTLS(t, on.API.Addr())
		assert.Equal(t, counted.n.Load(), sent+3, "fast path", fastPath, "answers counted for the address")
	}
}

// documentedOfNetHTTP are the statuses of responses that net/http itself sends.
func documentedOfNetHTTP(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/errors.md")
	assert.NoError(t, err)
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{3}) \| [^|]+ \|$`).FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	return documented
}

// countedAddress counts what comes from 127.0.0.1.
type countedAddress struct {
	gate.Addresses
	n atomic.Int64
}

func (c *countedAddress) Take(from netip.Addr, now time.Time) limiter.Context {
	if from != netip.MustParseAddr("127.0.0.1") {
		return limiter.Context{}
	}
	return limiter.Context{Limit: 6000, Remaining: 6000 - c.n.Add(1), Reset: now.Unix() + 60}
}

func checkMalformed(t *testing.T, at net.Addr, before, request string, want int) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.String())
	assert.NoError(t, err)
	defer func() { _ = conn.Close() }()
	assert.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	read := bufio.NewReader(conn)
	if before != "" {
		if res := ask(t, conn, read, before); res.StatusCode != 200 {
			t.Fatalf("before: %d", res.StatusCode)
		}
	}
	_, err = io.WriteString(conn, request)
	assert.NoError(t, err)
	res, err := http.ReadResponse(read, nil)
	if err != nil {
		t.Fatalf("%.40q: %v", request, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want || !res.Close {
		t.Errorf("%.40q: %d, %v %s, want %d", request, res.StatusCode, err, body, want)
	}
	checkCommonHeaders(t, request, res.Header)
	if want != 400 {
		return
	}
	var got map[string]any
	const link = `<https://api.example.com/docs/errors#malformed_request>; rel="help"`
	if err := json.Unmarshal(
		body,
		&got,
	); err != nil || len(got) != 3 || got["code"] != "malformed_request" || got["status"] != 400.0 ||
		res.Header.Get("Content-Type") != "application/json" ||
		res.Header.Get("Link") != link {
		t.Errorf("%.40q: %v %s, %v", request, res.Header, body, err)
	}
}

// checkCommonHeaders: an answer that no handler makes has the headers of every response, each once.
func checkCommonHeaders(t *testing.T, request string, h http.Header) {
	t.Helper()
	for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy",
		"X-Request-Id", "Access-Control-Expose-Headers"} {
		if values := h.Values(name); len(values) != 1 || values[0] == "" {
			t.Errorf("%.40q: %s is %q", request, name, values)
		}
	}
	if h.Get("X-RateLimit-Limit") != "6000" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%.40q: %v", request, h)
	}
}

// checkTLS: https:// to the port of HTTP gets a response at once, by which clients notice that it
// is HTTP.
func checkTLS(t *testing.T, at net.Addr) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readHeaderTimeout/2)
	defer cancel()
	for _, begin := range []string{"\x16\x03\x01\x02\x00\x01", "\x16\x03\x01\n\r\n"} {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at.String())
		assert.NoError(t, err)
		deadline, _ := ctx.Deadline()
		assert.NoError(t, conn.SetDeadline(deadline))
		_, err = io.WriteString(conn, begin)
		assert.NoError(t, err)
		answer, err := io.ReadAll(conn)
		if res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil); err == nil {
			checkCommonHeaders(t, begin, res.Header)
			_ = res.Body.Close()
		}
		if err != nil ||
			!strings.Contains(
				string(answer),
				`"message":"This port speaks HTTP without TLS. Use http:// in place of https://, or the address `+
					`https://api.example.com/v1."`,
			) {
			t.Errorf("%q: %s, %v", begin, answer, err)
		}
		_ = conn.Close()
	}
	conn, err := new(tls.Dialer).DialContext(ctx, "tcp", at.String())
	if record, ok := errors.AsType[tls.RecordHeaderError](err); !ok || string(record.RecordHeader[:]) != "HTTP/" {
		t.Errorf("a client of TLS: %v, %v", conn, err)
	}
}
