package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestPagesAreAnswers: pages need no key, and carry what every answer does.
func TestPagesAreAnswers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	all, err := docsRoutes(baseURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, headers := range [][]string{{"Authorization", ""}, {"Authorization", "Bearer pst_live_x"}, {"Accept-Encoding", "gzip", "Authorization", ""}} {
			full := w.request("GET", p.path, "", headers...)
			rec := w.do(full)
			checkAnswer(t, full, rec)
			if rec.Code != 200 || rec.Body.Len() == 0 || header(rec, "ETag") == "" || header(rec, "X-Content-Type-Options") != "nosniff" || strings.HasPrefix(header(rec, "RateLimit"), `"minute"`) {
				t.Errorf("%s: %d, %v", p.path, rec.Code, rec.Result().Header)
			}
			head := w.do(w.request("HEAD", p.path, "", headers...))
			if head.Code != 200 || head.Body.Len() > 0 || header(head, "Content-Length") != header(rec, "Content-Length") {
				t.Errorf("HEAD %s: %d, %v", p.path, head.Code, head.Result().Header)
			}
			again := w.request("GET", p.path, "", append(headers, "If-None-Match", header(rec, "ETag"))...)
			unchanged := w.do(again)
			checkAnswer(t, again, unchanged)
			if unchanged.Code != 304 || unchanged.Body.Len() > 0 || header(unchanged, "ETag") != header(rec, "ETag") {
				t.Errorf("%s again: %d, %v", p.path, unchanged.Code, unchanged.Result().Header)
			}
		}
		refused := w.request("POST", p.path, "{}")
		if rec := w.do(refused); rec.Code != 405 || header(rec, "Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: %d, Allow %q", p.path, rec.Code, header(rec, "Allow"))
		}
	}
}

// TestPolicies: browsers are told to load nothing from elsewhere; only the reference runs a script.
func TestPolicies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for path, scripts := range map[string]bool{"/": false, "/docs": true, "/docs/errors": false, "/docs/deprecations/get-pet": false} {
		rec := w.do(w.request("GET", path, "", "Authorization", ""))
		policy := header(rec, "Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "script-src 'self'") != scripts ||
			strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "*") || header(rec, "X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, rec.Result().Header)
		}
	}
}

// TestDeprecationHasItsPage: where the Link header leads, there is something to read.
func TestDeprecationHasItsPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, r := range routes {
		if r.deprecated != nil {
			if rec := w.do(w.request("GET", r.deprecated.guide, "")); rec.Code != 200 || !bytes.Contains(rec.Body.Bytes(), []byte("<main")) {
				t.Errorf("%s: %d", r.deprecated.guide, rec.Code)
			}
		}
	}
}

// TestPagesBelowAPath: a proxy cuts the path of the base URL off.
func TestPagesBelowAPath(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.BaseURL = "https://gateway.example.com/animals/v1" })
	rec := w.do(w.request("GET", "/docs", "", "Authorization", ""))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `src="/animals/docs/assets/scalar.js"`) ||
		!strings.Contains(header(rec, "Content-Security-Policy"), "connect-src 'self' https://gateway.example.com;") {
		t.Errorf("%d, %v: %s", rec.Code, rec.Result().Header, rec.Body)
	}
}
