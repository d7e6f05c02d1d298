package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"petstore.example/internal/test/assert"
)

const exampleKey = "pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"

// silent fails the test if a program prints a part of the key, or where in it an error came from.
func silent(t *testing.T, name string, out []byte, err error) {
	t.Helper()
	assert.True(t, err != nil, name, "succeeds", string(out))
	for _, part := range []string{exampleKey[:20], exampleKey[len(exampleKey)-12:], "Traceback", "    at "} {
		if strings.Contains(string(out), part) {
			t.Errorf("%s: prints %q:\n%s", name, part, out)
		}
	}
}

// TestExampleKeysAreNotPrinted: a key with a character that no header may have, and a URL that is
// none, are refused before a request, and not printed.
func TestExampleKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	const middle = len(exampleKey) / 2
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			t.Cleanup(server.Close)
			dir := e.install(t, 4)
			write(t, dir, "animals.txt", names(9))
			for _, token := range []string{
				"\n" + exampleKey, exampleKey[:middle] + "\n" + exampleKey[middle:], exampleKey + "\n",
				exampleKey + "\r\n", "\t" + exampleKey, exampleKey[:middle] + " " + exampleKey[middle:],
				exampleKey[:middle] + "…" + exampleKey[middle:], exampleKey + "\xff", "",
			} {
				file := e.library
				if strings.HasSuffix(token, "\n") {
					file = e.program
				}
				out, err := e.command(t, dir, server.URL, token, file, "animals.txt").CombinedOutput()
				silent(t, fmt.Sprintf("the key %q", token), out, err)
				assert.True(t, strings.HasPrefix(string(out), "PETSTORE_API_KEY must be "), string(out))
			}
			for _, url := range []string{
				exampleKey, "https://shop:" + exampleKey + "@127.0.0.1/v1", "http://127.0.0.1/\n" + exampleKey,
			} {
				out, err := e.command(t, dir, url, exampleKey, e.library).CombinedOutput()
				silent(t, fmt.Sprintf("the URL %q", url), out, err)
				assert.True(t, strings.HasPrefix(string(out), "PETSTORE_URL must be "), string(out))
			}
			assert.Equal(t, requests.Load(), 0, "requests")
		})
	}
}

// TestExampleEchoesAreNotPrinted: a proxy that echoes the key in what it says makes no program print
// it.
func TestExampleEchoesAreNotPrinted(t *testing.T) {
	t.Parallel()
	const head, end = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n", "\r\n\r\n"
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := e.install(t, 4)
			write(t, dir, "animals.txt", names(9))
			write(t, dir, e.hurryFile, e.hurry)
			for what, response := range map[string]string{
				"the message":     head + end[2:] + `{"code":"a","message":"` + exampleKey + `"}`,
				"the code":        head + end[2:] + `{"code":["` + exampleKey + `"],"message":7}`,
				"the request ID":  head + "X-Request-Id: " + exampleKey + end,
				"the reason":      "HTTP/1.1 400 " + exampleKey + "\r\nConnection: close" + end,
				"a redirect":      "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://" + exampleKey + end,
				"no status line":  exampleKey + "\r\n" + end,
				"a body, no JSON": "HTTP/1.1 200 OK\r\nConnection: close" + end + exampleKey,
				"null":            head + end[2:] + "null",
				"a list":          head + end[2:] + `["` + exampleKey + `"]`,
			} {
				url := "http://" + echo(t, response)
				args := slices.Concat(e.args, []string{e.program, "animals.txt"})
				if what == "the reason" {
					args = append(slices.Clone(e.args), e.library)
				}
				out, err := e.command(t, dir, url, exampleKey, args...).CombinedOutput()
				silent(t, what, out, err)
			}
		})
	}
}

// echo sends each request that response, and returns its address.
func echo(t *testing.T, response string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				// One read has all of a small request; what may remain only resets the connection.
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = conn.Write([]byte(response))
			}()
		}
	}()
	return listener.Addr().String()
}
