package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptions: a browser's preflight is told what a page may send, anybody else which methods there
// are.
func TestOptions(t *testing.T) {
	t.Parallel()
	const headers = "Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, " +
		"traceparent, tracestate, X-Petstore-Simulate, X-Request-Id, X-Requested-With"
	preflight := func(methods string) map[string]string {
		return map[string]string{
			"Access-Control-Allow-Methods": methods,
			"Access-Control-Allow-Headers": headers,
			"Access-Control-Max-Age":       "7200",
		}
	}
	for _, c := range []struct {
		name, target string
		headers      []string
		status       int
		want         map[string]string
	}{
		{"plain", "/v1/pets", nil, 204, map[string]string{}},
		{"with an Origin alone", "/v1/pets", []string{"Origin", "https://shop.example"}, 204, map[string]string{}},
		{"with a method alone", "/v1/pets", []string{"Access-Control-Request-Method", "GET"}, 204, map[string]string{}},
		{"preflight", "/v1/pets", []string{"Origin", "https://shop.example", "Access-Control-Request-Method", "POST"},
			204,
			preflight("GET, HEAD, OPTIONS, POST")},
		{"preflight for an animal", "/v1/pets/1",
			[]string{"Origin", "null", "Access-Control-Request-Method", "PATCH"}, 204,
			preflight("GET, HEAD, OPTIONS, PATCH")},
		{"preflight for what is not there", "/v1/pets",
			[]string{"Origin", "https://x", "Access-Control-Request-Method", "DELETE",
				"Access-Control-Request-Headers", "x-foo"}, 204, preflight("GET, HEAD, OPTIONS, POST")},
		{"preflight for no path", "/v1/nothing",
			[]string{"Origin", "https://x", "Access-Control-Request-Method", "GET"}, 404, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			r := w.request("OPTIONS", c.target, "", append(c.headers, "Authorization", "")...)
			rec := w.do(r)
			checkAnswer(t, r, rec)
			got := map[string]string{}
			for name := range rec.Result().Header {
				if strings.HasPrefix(name, "Access-Control-") && name != "Access-Control-Allow-Origin" &&
					name != "Access-Control-Expose-Headers" {
					got[name] = header(rec, name)
				}
			}
			if diff := cmp.Diff(
				c.want,
				got,
			); diff != "" || rec.Code != c.status ||
				(rec.Code == 204) != (header(rec, "Allow") != "") {
				t.Errorf("%d, Allow %q: %s", rec.Code, header(rec, "Allow"), diff)
			}
			if w.meter.admitted > 0 {
				t.Error("counted")
			}
		})
	}
}

// readable are the headers that a page in a browser can read: all, but for that of the
// connection. 415 says in Accept and Accept-Encoding what it takes.
var readable = slices.Concat(strings.Split(exposedHeaders[0], ", "),
	[]string{"Cache-Control", "Content-Length", "Content-Type", "Connection"})

func checkReadable(t *testing.T, h http.Header) {
	t.Helper()
	for name := range h {
		// Browsers obey the second, and show it to no program.
		ofBrowsers := strings.HasPrefix(name, "Access-Control-") || name == "Strict-Transport-Security"
		if !ofBrowsers && !slices.Contains(readable, name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}
