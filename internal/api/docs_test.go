package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/api/reference"
	"petstore.example/internal/test/assert"
)

// TestPagesAreAnswers: pages need no key, and carry what every answer does.
func TestPagesAreAnswers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	site, err := reference.New(baseURL, reference.Support{}, openAPIText)
	assert.NoError(t, err)
	for _, p := range docsRoutes(site) {
		for _, headers := range [][]string{{"Authorization", ""}, {"Authorization", "Bearer pst_live_x"},
			{"Accept-Encoding", "gzip", "Authorization", ""}} {
			full := w.request("GET", p.path, "", headers...)
			rec := w.do(full)
			checkAnswer(t, full, rec)
			if rec.Code != 200 || rec.Body.Len() == 0 || header(rec, "ETag") == "" ||
				header(rec, "X-Content-Type-Options") != "nosniff" ||
				strings.HasPrefix(header(rec, "RateLimit"), `"minute"`) {
				t.Errorf("%s: %d, %v", p.path, rec.Code, rec.Result().Header)
			}
			head := w.do(w.request("HEAD", p.path, "", headers...))
			if head.Code != 200 || head.Body.Len() > 0 ||
				header(head, "Content-Length") != strconv.Itoa(rec.Body.Len()) {
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

// TestReleasedFilesAreAsTheyAre: their bytes and digests, whatever the client accepts.
func TestReleasedFilesAreAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	get := func(path string) *httptest.ResponseRecorder {
		rec := w.do(w.request("GET", "/docs/clients/"+path, "", "Authorization", "", "Accept-Encoding", "gzip"))
		assert.Equal(t, rec.Code, 200, path)
		return rec
	}
	sums := get("SHA256SUMS").Body.String()
	files := 0
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		rec := get(name)
		if got := fmt.Sprintf("%x", sha256.Sum256(rec.Body.Bytes())); got != sum ||
			header(rec, "Content-Encoding")+header(rec, "Vary") != "" || !released.MatchString("/docs/clients/"+name) {
			t.Errorf("%s: SHA-256 %s, want %s, %v", name, got, sum, rec.Result().Header)
		}
		files++
	}
	var versions map[string]struct {
		Name, Newest string
		Versions     map[string]struct{ URL, SHA256 string }
	}
	assert.NoError(t, json.Unmarshal(get("versions.json").Body.Bytes(), &versions))
	module := versions["go"]
	newest := module.Versions[module.Newest]
	assert.Equal(t, newest.URL, strings.TrimSuffix(baseURL, "/v1")+"/docs/clients/go/"+module.Name+"/@v/"+
		module.Newest+".zip", "versions.json")
	assert.True(t, strings.Contains(sums, newest.SHA256+"  go/"), "versions.json has", newest.SHA256)
	assert.Equal(t, get("go/"+module.Name+"/@latest").Body.String(),
		get("go/"+module.Name+"/@v/"+module.Newest+".info").Body.String(), "@latest")
	assert.True(t, strings.HasSuffix(get("go/"+module.Name+"/@v/list").Body.String(), module.Newest+"\n"), "list")
	t.Logf("%d files", files)
}

// TestPolicies: browsers are told to load nothing from elsewhere, and only the reference may set
// styles in the page.
func TestPolicies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for path, styles := range map[string]bool{"/": false, "/docs": true, "/docs/errors": false,
		"/docs/deprecations/get-pet": false} {
		rec := w.do(w.request("GET", path, "", "Authorization", ""))
		policy := header(rec, "Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "script-src 'self';") ||
			strings.Contains(
				policy,
				"style-src 'self' 'unsafe-inline'",
			) != styles || strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "*") ||
			header(rec, "X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, rec.Result().Header)
		}
	}
}

// TestDeprecationHasItsPage: where the Link header leads, there is something to read.
func TestDeprecationHasItsPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, r := range routesOf(routes) {
		if r.deprecated != nil {
			if rec := w.do(w.request("GET", r.deprecated.guide, "")); rec.Code != 200 ||
				!bytes.Contains(rec.Body.Bytes(), []byte("<main")) {
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

// TestMissingPage: a browser that looks for a page that does not exist gets a page under the policy
// of the guides; programs get the error.
func TestMissingPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.BaseURL = "https://gateway.example.com/animals/v1" })
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	guide := w.do(w.request("GET", "/docs/errors", "", "Authorization", ""))
	for _, c := range []struct {
		target, accept, want string
	}{
		{"/docs/rate-limiting", browser, `Did you mean <a href="/animals/docs/limits"><code>/docs/limits</code></a>?`},
		{"/docs/<script>&x", browser, `<code>/docs/&lt;script&gt;&amp;x</code> does not exist.`},
		{"/docs/%3Cscript%3E&x", browser, `<code>/docs/%3Cscript%3E&amp;x</code> does not exist.`},
		{"/docs/nothing/", browser, `<a class="action" href="/animals/docs">`},
		{"/docs/nothing", "*/*", ""},
		{"/docs/nothing", "", ""},
		{"/pets", browser, `Did you mean <a href="/animals/v1/pets"><code>/v1/pets</code></a>?`},
		{"/v2/pets", browser, `<a class="action" href="/animals/docs">`},
		{"/pets", "application/json", ""},
		{"/v1/nothing", browser, ""},
	} {
		r := w.request("GET", c.target, "", "Authorization", "", "Accept", c.accept)
		rec := w.do(r)
		isPage := header(rec, "Content-Type") == "text/html; charset=utf-8"
		if rec.Code != 404 || isPage != (c.want != "") || !strings.Contains(rec.Body.String(), c.want) {
			t.Errorf("%s for %q: %d %v %s", c.target, c.accept, rec.Code, rec.Result().Header, rec.Body)
		}
		if !isPage {
			checkAnswer(t, r, rec)
			continue
		}
		for _, name := range []string{"Content-Security-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy",
			"X-Content-Type-Options"} {
			if header(rec, name) == "" || header(rec, name) != header(guide, name) {
				t.Errorf("%s: %s is %q, of a guide %q", c.target, name, header(rec, name), header(guide, name))
			}
		}
		head := w.do(w.request("HEAD", c.target, "", "Authorization", "", "Accept", c.accept))
		if head.Code != 404 || head.Body.Len() > 0 || header(head, "Content-Length") != strconv.Itoa(rec.Body.Len()) {
			t.Errorf("HEAD %s: %d, %v", c.target, head.Code, head.Result().Header)
		}
	}
}

// TestIcon: what browsers and crawlers ask for by themselves is there, and an icon counts for no
// tenant.
func TestIcon(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	rec := w.do(w.request("GET", "/favicon.ico", ""))
	if rec.Code != 200 || header(rec, "Content-Type") != "image/svg+xml" || w.meter.admitted != 0 {
		t.Errorf("%d, %v, %d counted", rec.Code, rec.Result().Header, w.meter.admitted)
	}
	rec = w.do(w.request("GET", "/robots.txt", "", "Authorization", ""))
	if rec.Code != 200 || header(rec, "Content-Type") != "text/plain; charset=utf-8" ||
		!strings.HasSuffix(rec.Body.String(), "\nUser-agent: *\nDisallow: /v1/\n") {
		t.Errorf("robots.txt: %d, %v %s", rec.Code, rec.Result().Header, rec.Body)
	}
}
