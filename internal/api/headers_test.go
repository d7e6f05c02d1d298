package api

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
)

// TestStrictTransport: with an https base URL every response that a browser may show has
// Strict-Transport-Security, with http none has. A list has no room for another header.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		baseURL: "max-age=31536000", "http://localhost:8080/v1": "",
	} {
		w := newFixture(t, func(c *Config) { c.BaseURL = base })
		for _, path := range strings.Fields("/ /v1 /docs /docs/errors /v1/plans /robots.txt /nothing /v1/pets/x") {
			rec := w.do(w.request("GET", path, ""))
			assert.Equal(t, header(rec, "Strict-Transport-Security"), want, base, path, rec.Code)
		}
		for _, r := range []string{"GET /v1/pets", "OPTIONS /v1/pets", "DELETE /v1/pets"} {
			method, path, _ := strings.Cut(r, " ")
			rec := w.do(w.request(method, path, "", "Authorization", ""))
			assert.Equal(t, header(rec, "Strict-Transport-Security"), want, base, r, rec.Code)
		}
		assert.Equal(t, header(w.do(w.request("GET", "/v1/pets", "")), "Strict-Transport-Security"), "", "a list")
	}
}

// watcher is a middleware. It notes the headers as a ResponseWriter that wraps another sees them
// when they are written, and as the wrapped one shows them at the end. With bare set it wraps
// nothing.
type watcher struct {
	http.Handler
	bare, isFast   bool
	written, atEnd http.Header
	// begin and end pass the watcher from the client to the server and back.
	begin, end chan struct{}
}

func newWatcher(h http.Handler) *watcher {
	return &watcher{Handler: h, begin: make(chan struct{}, 1), end: make(chan struct{}, 1)}
}

func (m *watcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	<-m.begin
	defer func() { m.end <- struct{}{} }()
	m.isFast = isFast(w)
	m.written = nil
	if m.bare {
		m.Handler.ServeHTTP(w, r)
	} else {
		m.Handler.ServeHTTP(&watchedWriter{w, m}, r)
	}
	m.atEnd = w.Header().Clone()
}

// isFast reports whether the fast path made a ResponseWriter: that of net/http can flush.
func isFast(w http.ResponseWriter) bool {
	_, flushes := w.(http.Flusher)
	return !flushes
}

type watchedWriter struct {
	http.ResponseWriter
	m *watcher
}

func (w *watchedWriter) WriteHeader(status int) {
	w.m.written = w.Header().Clone()
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// response is what a client, or a middleware, sees of one.
type response struct {
	Status int
	Header http.Header
	Body   string
}

// comparable returns a response with the same names of headers on every way, and without what
// differs from request to request.
func (r response) comparable(t *testing.T) response {
	t.Helper()
	h := http.Header{}
	for name, values := range r.Header {
		assert.Equal(t, len(values), 1, name, values)
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Del("Date") // The server's.
	if r.Body != "" && h["Content-Length"] == nil {
		h.Set("Content-Length", strconv.Itoa(len(r.Body))) // The server adds that of a short one.
	}
	for _, own := range []string{"X-Ratelimit-Remaining", "Ratelimit", "Location", "X-Quota-Overage"} {
		if h[own] != nil {
			h[own] = []string{"differs"}
		}
	}
	r.Header = h
	if h["Location"] != nil {
		r.Body = "" // It has an ID of its own, and so has its tag.
		h.Del("Content-Length")
		h["Etag"] = []string{"differs"}
	}
	return r
}

// TestHeadersEverywhere: the client of net/http and that of the fast path, a test recorder, and a
// middleware on each of them see the same headers, each once.
func TestHeadersEverywhere(t *testing.T) {
	t.Parallel()
	w, _, _ := newCachingFixture(t)
	for range 40 {
		w.addPet(t, "available")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	slow, fast := newWatcher(w), newWatcher(w)
	slowURL, fastURL := contract.Listen(t, server(slow), "off"), contract.Listen(t, server(fast), "on")
	tag := header(w.list(t, "?limit=2"), "ETag")
	w.directory.change(
		t,
		w.other,
		func(c *keys.Caller) { c.Tenant = &plans.Tenant{ID: 3, Quota: plans.Quota{PerMinute: 0, PerDay: 1}} },
	)
	month := plans.Month{Kind: plans.SomeMonth, Overage: plans.Overage{Kind: plans.OverageNumber, Value: 1000}}
	inOverage := w.directory.issue(t, "key_team", plans.Tenant{ID: 4, Plan: "team",
		Quota: plans.Quota{PerMinute: 1000, PerDay: 1000, Month: month}})
	month.Overage.Value = 1
	over := w.directory.issue(t, "key_over", plans.Tenant{ID: 5, Plan: "team",
		Quota: plans.Quota{PerMinute: 1000, PerDay: 1000, Month: month}})
	w.do(w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+over))
	ask := func(m *watcher, base *url.URL, r *http.Request) response {
		r = r.Clone(t.Context())
		r.RequestURI = ""
		var err error
		r.URL, err = base.Parse(r.URL.RequestURI())
		assert.NoError(t, err)
		m.begin <- struct{}{}
		res, err := client.Do(r)
		assert.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		assert.NoError(t, err)
		_ = res.Body.Close()
		<-m.end
		assert.True(
			t,
			r.Method == http.MethodHead || res.ContentLength == int64(len(body)),
			r.Method,
			r.URL,
			res.ContentLength,
			"for",
			len(body),
			"bytes",
		)
		got := response{res.StatusCode, res.Header, string(body)}.comparable(t)
		for name, header := range map[string]http.Header{"written": m.written, "at the end": m.atEnd} {
			if header == nil && m.bare {
				continue
			}
			seen := response{got.Status, header, got.Body}.comparable(t)
			assert.DeepEqual(t, seen, got, r.Method, r.URL, name, "-client +middleware")
		}
		return got
	}
	times, fastTimes := 0, 0
	for i, tt := range []struct {
		line, body string
		headers    []string
	}{
		{"GET /v1/pets?limit=34", "", nil}, // Just under lengthAdded.
		{"GET /v1/pets?limit=2", "", nil},
		{"GET /v1/pets?limit=2", "", nil},
		{"HEAD /v1/pets?limit=2", "", nil},
		{"GET /v1/pets?limit=2", "", []string{"If-None-Match", tag}},
		{"GET /v1/pets?limit=100&status=available&colour=red", "", nil},
		{"GET /v1/pets?limit=100&status=available", "", []string{"Accept-Encoding", "gzip, deflate, br"}},
		{"HEAD /v1/pets?limit=100", "", []string{"Accept-Encoding", "gzip"}},
		{"GET /v1/pets?limit=0", "", nil},
		{"GET /v1/pets/1", "", nil},
		{"GET /v1/pets/99", "", nil},
		{"GET /v1/store/orders", "", nil},
		{"GET /v1/usage", "", nil},
		{"POST /v1/pets", `{"name":"Rex","categoryId":1}`, []string{"Content-Type", "application/json"}},
		{"POST /v1/pets", `{"name":"Rex","categoryId":1}`,
			[]string{"Content-Type", "application/json", "Prefer", "handling=strict"}},
		{"POST /v1/pets", `{`, []string{"Content-Type", "application/json"}},
		{"POST /v1/pets", `{}`, []string{"Content-Type", "text/plain"}},
		{"PATCH /v1/pets/1", `{"name":"Max"}`, []string{"Content-Type", "application/json"}},
		{"DELETE /v1/pets", "", nil},
		{"GET /v1/nothing", "", nil},
		{"OPTIONS /v1/pets", "", []string{"Origin", "https://x.example", "Access-Control-Request-Method", "GET"}},
		{"GET /v1/pets", "", []string{"Authorization", "Bearer pst_live_x"}},
		{"GET /v1/pets", "", []string{"Authorization", ""}},
		{"GET /v1/pets", "", []string{"Authorization", "Bearer " + w.other}},
		{"GET /v1/pets?limit=2", "", []string{"Authorization", "Bearer " + inOverage}},
		{"GET /v1/pets?limit=2", "", []string{"Authorization", "Bearer " + over}},
		{"GET /v1/pets?x=" + strings.Repeat("x", maxURI), "", nil},
		{"GET /docs/errors", "", nil},
		{"GET /docs/", "", nil},
		{"GET /v1", "", []string{"Accept", "text/html"}},
		{"GET /v1/pets?stauts=sold", "", nil},
		{"GET /v1/pets?stauts=sold", "", []string{"Prefer", "handling=strict"}},
		{"GET /v1/openapi.yaml", "", []string{"Accept-Encoding", "gzip"}},
	} {
		method, target, _ := strings.Cut(tt.line, " ")
		request := func() *http.Request {
			return w.request(method, target, tt.body, append([]string{"X-Request-Id", "same"}, tt.headers...)...)
		}
		rec := w.do(request())
		want := response{rec.Code, rec.Result().Header, rec.Body.String()}.comparable(t)
		if method == http.MethodHead {
			want.Body = ""
		}
		if diff := cmp.Diff(want, ask(slow, slowURL, request())); diff != "" {
			t.Errorf("%d %.60s (-recorder +net/http):\n%.2000s", i, tt.line, diff)
		}
		assert.True(t, i > 0 || len(slow.atEnd) == 14, "a list has", len(slow.atEnd), "headers; lengthAdded says 14")
		for _, fast.bare = range []bool{false, true, false, true} {
			// net/http ends a request after its response was sent; a request that comes before is
			// net/http's.
			time.Sleep(time.Millisecond)
			if diff := cmp.Diff(want, ask(fast, fastURL, request())); diff != "" {
				t.Errorf("%d %.60s (-recorder +fast path):\n%.2000s", i, tt.line, diff)
			}
			times++
			if fast.isFast {
				fastTimes++
			}
		}
	}
	t.Logf("%d of %d requests took the fast path", fastTimes, times)
	if fastTimes < times/3 {
		t.Errorf("only %d of %d requests took the fast path", fastTimes, times)
	}
}
