package api

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/sandbox"
)

// client is one connection, on which answers are read as they come.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, addr string) client {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	assert.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return client{conn, bufio.NewReader(conn)}
}

func (c client) send(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	assert.NoError(t, err)
}

// answer reads one answer, and the code of its error.
func (c client) answer(t *testing.T) (res *http.Response, code string) {
	t.Helper()
	res, err := http.ReadResponse(c.answers, nil)
	assert.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	assert.NoError(t, err)
	_ = res.Body.Close()
	var e struct{ Code string }
	if len(body) > 0 && body[0] == '{' {
		assert.NoError(t, json.Unmarshal(body, &e))
	}
	return res, e.Code
}

// TestSilentBody: who announces a body and sends none gets an answer all the same: at once when it
// does not need the body, else within the time that there is to send one.
func TestSilentBody(t *testing.T) {
	t.Parallel()
	const long, short = time.Hour, 300 * time.Millisecond
	for _, c := range []struct {
		name, line, key, headers string
		timeout                  time.Duration
		status                   int
		code                     string
	}{
		{"no key", "POST /v1/pets", "", "Content-Length: 100", long, 401, "missing_api_key"},
		{"no key, in chunks", "POST /v1/pets", "", "Transfer-Encoding: chunked", long, 401, "missing_api_key"},
		{"no key, a long body", "POST /v1/pets", "", "Content-Length: 1000000", long, 401, "missing_api_key"},
		{"no key, waiting to be told", "POST /v1/pets", "", "Content-Length: 100\r\nExpect: 100-continue", long, 401,
			"missing_api_key"},
		{"no path", "POST /v1/nothing", "", "Content-Length: 100", long, 404, "route_not_found"},
		{"a body that nobody wants", "GET /v1/pets", "key", "Content-Length: 100", long, 200, ""},
		{"a key", "POST /v1/pets", "key", "Content-Length: 100", short, 400, "invalid_json"},
		{"a key, in chunks", "PATCH /v1/pets/1", "key", "Transfer-Encoding: chunked", short, 400, "invalid_json"},
		{"a key, and a beginning", "POST /v1/pets", "key", "Content-Length: 100\r\n\r\n{", short, 400, "invalid_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(config *Config) { config.bodyWindow = c.timeout })
			conn := dial(t, w.listen(t, c.timeout))
			request := c.line + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			if c.key != "" {
				request += "Authorization: Bearer " + w.key + "\r\n"
			}
			request += c.headers
			if !strings.Contains(c.headers, "\r\n\r\n") {
				request += "\r\n\r\n"
			}
			conn.send(t, request)
			res, code := conn.answer(t)
			if res.StatusCode != c.status || code != c.code || !res.Close {
				t.Errorf("%d %q, closes %v, want %d %q and to close", res.StatusCode, code, res.Close, c.status, c.code)
			}
		})
	}
}

// TestBodyIsDrained: a body that is there and is not needed does not cost the connection.
func TestBodyIsDrained(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	conn := dial(t, w.listen(t, time.Hour))
	const smuggled = "DELETE /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, headers := range []string{"Content-Length: 40\r\n\r\n" + smuggled,
		"Transfer-Encoding: chunked\r\n\r\n28\r\n" + smuggled + "\r\n0\r\n\r\n"} {
		for range 3 {
			conn.send(t, "POST /v1/pets HTTP/1.1\r\nHost: x\r\n"+headers)
			if res, code := conn.answer(t); res.StatusCode != 401 || code != "missing_api_key" || res.Close {
				t.Fatalf("%d %q, closes %v", res.StatusCode, code, res.Close)
			}
			// What net/http listens for on the connection meanwhile leaves the next request whole.
			conn.send(
				t,
				"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+w.key+
					"\r\nContent-Length: 29\r\n\r\n"+`{"name":"Mia","categoryId":7}`,
			)
			if res, code := conn.answer(t); res.StatusCode != 201 || res.Close {
				t.Fatalf("%d %q, closes %v", res.StatusCode, code, res.Close)
			}
		}
	}
}

// TestLateBody: what comes of a body after its request was answered is never taken for another
// request.
func TestLateBody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	conn := dial(t, w.listen(t, time.Hour))
	conn.send(t, "POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	if res, _ := conn.answer(t); res.StatusCode != 401 || !res.Close {
		t.Fatalf("%d, closes %v", res.StatusCode, res.Close)
	}
	_, _ = io.WriteString(conn, strings.Repeat("GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", 50))
	if _, err := http.ReadResponse(conn.answers, nil); err == nil {
		t.Error("the body was answered")
	}
}

// TestSlowBody: a body may take as long as it needs, if it does not come too slowly, and then gets
// its answer though the server's own time for it is over.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	const window = time.Second
	for _, c := range []struct {
		name          string
		piece, pieces int
		status        int
		code          string
	}{
		{"above the least rate", bytesPerWindow, 7, 201, ""},
		{"below the least rate", bytesPerWindow / 8, 7 * 8, 400, "invalid_json"},
		{"without its end", bytesPerWindow, 6, 400, "invalid_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(config *Config) { config.bodyWindow = window })
			conn := dial(t, w.listen(t, window))
			body := `{"name":"Mia","categoryId":7}`
			body = strings.Repeat(" ", 7*bytesPerWindow-len(body)) + body
			conn.send(
				t,
				"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+w.key+
					"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n",
			)
			go func() {
				for i := range c.pieces {
					_, _ = io.WriteString(conn, body[i*c.piece:(i+1)*c.piece])
					time.Sleep(window / 4) // a client that sends slowly
				}
			}()
			if res, code := conn.answer(t); res.StatusCode != c.status || code != c.code {
				t.Errorf("%d %q, want %d %q", res.StatusCode, code, c.status, c.code)
			}
		})
	}
}

// TestLongBodyGetsItsAnswer: a client that sends all of a body before it reads gets the response
// even if the body is far too long. Python's http.client is one, and so are most libraries of
// Python. The last request expects 100 Continue, and gets it.
func TestLongBodyGetsItsAnswer(t *testing.T) {
	t.Parallel()
	const program = `
import http.client, sys
long = b" " * (8 << 20)
good = {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"}
waits = {**good, "Expect": "100-continue"}
for headers, body in (good, long), (good, iter([long])), ({}, long), ({}, iter([long])), (waits, iter([long])):
    c = http.client.HTTPConnection(sys.argv[1], timeout=60)
    c.request("POST", "/v1/pets", body, headers)
    r = c.getresponse()
    print(r.status, r.getheader("Connection"), r.read())
    c.close()
`
	for mode := range contract.Modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			at := contract.Listen(t, server(w), mode)
			out, err := sandbox.Command(t, "python3", "-c", program, at.Host, w.key).Output()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || len(lines) != 5 {
				t.Fatalf("%v: %s", err, out)
			}
			for i, want := range []string{"413 close", "413 close", "401 close", "401 close", "413 close"} {
				if !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], `"code":"`) {
					t.Errorf("response %d is %s, want %s", i, lines[i], want)
				}
			}
		})
	}
}
