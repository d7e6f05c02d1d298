package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// fakeAccount says in a header what came.
type fakeAccount struct{}

func (fakeAccount) Routes() []string { return []string{"GET /account", "POST /account/sign-in"} }

func (fakeAccount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = []byte(err.Error())
	}
	w.Header().Set("X-Came", r.Method+" "+r.RemoteAddr+" "+string(body))
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}

// TestAccountPages: they get the client's address and a whole body, no other origin may read them,
// and neither the log nor a metric has a query, a body or a cookie. They count for the address.
func TestAccountPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Account, c.TrustedProxies = fakeAccount{}, []string{"192.0.2.0/24"} })
	do := func(method, target, body string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		headers = append(
			headers,
			"Authorization",
			"",
			"Content-Type",
			"",
			"X-Forwarded-For",
			"203.0.113.9:4711",
			"Cookie",
			"petstore=secret",
			"Origin",
			"https://elsewhere.example",
		)
		return w.do(w.request(method, target, body, headers...))
	}
	for _, c := range []struct{ method, target, body, came string }{
		{"GET", "/account?token=secret", "", "GET 203.0.113.9:0 "},
		{"HEAD", "/account", "", "HEAD 203.0.113.9:0 "},
		{"POST", "/account/sign-in", "key=secret", "POST 203.0.113.9:0 key=secret"},
		{"POST", "/account/sign-in", "", "POST 203.0.113.9:0 "},
	} {
		rec := do(c.method, c.target, c.body)
		if rec.Code != 200 || header(rec, "X-Came") != c.came || header(rec, "Cache-Control") != "no-store" ||
			header(rec, "X-Request-Id") == "" {
			t.Errorf("%s %s: %d %v", c.method, c.target, rec.Code, rec.Header())
		}
		for name := range rec.Header() {
			assert.True(t, !strings.HasPrefix(name, "Access-Control-"), c.method, c.target, "has", name)
		}
	}
	rec := do("OPTIONS", "/account", "", "Access-Control-Request-Method", "POST")
	if rec.Code != 204 || header(rec, "Allow") != "GET, HEAD, OPTIONS" ||
		header(rec, "Access-Control-Allow-Methods") != "" ||
		header(rec, "Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS: %d %v", rec.Code, rec.Header())
	}
	rec = do("POST", "/account/sign-in", strings.Repeat("x", 2<<20))
	assert.Equal(t, rec.Code, http.StatusRequestEntityTooLarge, "a body over 1 MiB")
	rec = do("POST", "/account/sign-in", strings.Repeat("x", maxForm+1))
	assert.Equal(t, rec.Code, http.StatusRequestEntityTooLarge, "a long body")
	rec = do("GET", "/acount", "", "Accept", "text/html")
	assert.True(t, rec.Code == 404 && strings.Contains(rec.Body.String(), `href="/account"`), rec.Code, rec.Body)
	logs := w.logs.String()
	assert.True(t, !strings.Contains(logs, "secret") && strings.Contains(logs, `"route":"/account/sign-in"`), logs)
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	for _, f := range families {
		assert.True(t, !strings.Contains(f.String(), "secret"), f)
	}
	w.addresses.limit = 0
	assert.Equal(t, do("GET", "/account", "").Code, http.StatusTooManyRequests, "over the limit of the address")
}

// TestFailedPage: the pages read a query as GET /v1/requests does, with the message of its error.
func TestFailedPage(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_795_000_000, 0)
	page, problem := ReadFailedPage(url.Values{"status": {"429"}, "code": {"key_banned"}, "key": {"key_abc"}}, now)
	want := usage.FailedPage{
		Since: now.Add(-usage.FailedFor),
		Until: now.Add(time.Hour),
		KeyID: "key_abc",
		Kinds: []usage.FailedKind{{Status: 429, Code: "key_banned"}},
		Limit: defaultLimit,
	}
	assert.DeepEqual(t, page, want)
	assert.Equal(t, problem, "", "problem")
	_, problem = ReadFailedPage(url.Values{"status": {"x"}, "code": {"pet_not_fond"}}, now)
	w := newFixture(t)
	rec := w.do(w.request("GET", "/v1/requests?status=x&code=pet_not_fond", ""))
	assert.True(t, problem != "" && strings.Contains(rec.Body.String(), problem), problem, rec.Body)
}
