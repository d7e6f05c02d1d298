package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// listen serves the fixture on a loopback port as petstore does, with that read timeout, 0 for
// none. The time to write is over before it.
func (w *fixture) listen(t *testing.T, timeout time.Duration) string {
	t.Helper()
	s := httptest.NewUnstartedServer(w)
	s.Config.DisableGeneralOptionsHandler = true
	s.Config.ReadTimeout, s.Config.WriteTimeout = timeout, timeout/2
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// raw sends bytes and returns the answer as it came: its head's lines, and what follows.
func raw(t *testing.T, addr, request string) (lines []string, body string) {
	t.Helper()
	conn := dial(t, addr)
	// The server may answer and close before all of a long body is written.
	go func() { _, _ = io.WriteString(conn, request) }()
	var read bytes.Buffer
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &read)), &http.Request{Method: method})
	assert.NoError(t, err)
	content, err := io.ReadAll(res.Body)
	assert.NoError(t, errors.Join(err, res.Body.Close()))
	head, _, _ := strings.Cut(read.String(), "\r\n\r\n")
	return strings.Split(head, "\r\n"), string(content)
}

// TestOddTargets: whatever is asked for, the answer is ours.
func TestOddTargets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Sold)
	addr := w.listen(t, 0)
	for _, c := range []struct {
		line   string
		status int
		code   string
	}{
		{"GET /v1/pets/", 404, "route_not_found"},
		{"GET //v1//pets", 404, "route_not_found"},
		{"GET /v1/./pets", 404, "route_not_found"},
		{"GET /v1/x/../pets", 404, "route_not_found"},
		{"GET /V1/pets", 404, "route_not_found"},
		{"GET /v1/pets/1/", 404, "route_not_found"},
		{"GET /v1/pets/a%2Fb", 404, "pet_not_found"},
		{"GET /v1/pets/1%2f", 404, "pet_not_found"},
		{"GET /v1/pets%2F1", 404, "route_not_found"},
		{"GET /v1%2fpets", 404, "route_not_found"},
		{"PATCH /v1/store%2Forders/1", 404, "route_not_found"},
		{"OPTIONS /v1/pets%2F1", 404, "route_not_found"},
		{"GET /v1/pet%73", 200, ""},
		{"GET /nothing", 404, "route_not_found"},
		{"GET /v1", 200, ""},
		{"GET /v1/", 200, ""},
		{"GET /v1//", 404, "route_not_found"},
		{"GET /v1/pets/:petId", 404, "pet_not_found"},
		{"GET http://elsewhere.example/v1/pets", 200, ""},
		{"PUT /v1/pets", 405, "method_not_allowed"},
		{"TRACE /v1/pets", 405, "method_not_allowed"},
		{"QUERY /v1/pets", 405, "method_not_allowed"},
		{"get /v1/pets", 405, "method_not_allowed"},
		{"FOO-BAR /v1/pets/1", 405, "method_not_allowed"},
		{"POST /v1/pets/1", 405, "method_not_allowed"},
		{"CONNECT /v1/pets", 405, "method_not_allowed"},
		{"CONNECT x:443", 404, "route_not_found"},
		{"OPTIONS *", 404, "route_not_found"},
		{"OPTIONS /v1/pets", 204, ""},
		{"OPTIONS /v1/pets/", 404, "route_not_found"},
		{"GET /v1/pets?" + strings.Repeat("a", maxURI), 414, "uri_too_long"},
	} {
		t.Run(c.line[:min(len(c.line), 40)], func(t *testing.T) {
			lines, body := raw(t, addr, c.line+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.key+"\r\n\r\n")
			want := "HTTP/1.1 " + strconv.Itoa(c.status) + " "
			assert.True(t, strings.HasPrefix(lines[0], want), lines[0], "want", want, body)
			if !strings.Contains(body, c.code) ||
				!slices.ContainsFunc(
					lines,
					func(l string) bool { return strings.HasPrefix(l, "X-RateLimit-Limit: ") },
				) {
				t.Errorf("%q %s, want %s", lines, body, c.code)
			}
		})
	}
}

// TestTooLarge: a body that is announced as too long is not read at all, one that turns out to be
// is not read to its end, and both connections are closed.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	addr := w.listen(t, 0)
	head := "POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + w.key +
		"\r\n"
	chunk := strconv.FormatInt(2<<20, 16) + "\r\n" + strings.Repeat(" ", 2<<20) + "\r\n0\r\n\r\n"
	for name, request := range map[string]string{
		"announced":          head + "Content-Length: 2097152\r\n\r\n",
		"announced, waiting": head + "Content-Length: 2097152\r\nExpect: 100-continue\r\n\r\n",
		"in chunks":          head + "Transfer-Encoding: chunked\r\n\r\n" + chunk,
	} {
		lines, body := raw(t, addr, request)
		if !strings.HasPrefix(lines[0], "HTTP/1.1 413 ") || !slices.Contains(lines, "Connection: close") ||
			!strings.Contains(body, "body_too_large") {
			t.Errorf("%s: %q %s", name, lines, body)
		}
	}
}

// TestBrokenBody: a body that breaks off is the client's fault.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lines, body := raw(
		t,
		w.listen(t, 0),
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+w.key+
			"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
	)
	if !strings.HasPrefix(lines[0], "HTTP/1.1 400 ") || !strings.Contains(body, "invalid_json") {
		t.Errorf("%q %s", lines, body)
	}
}
