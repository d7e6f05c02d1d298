package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/httpfast"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// listen serves the handler, on a listener that prepare makes of a plain one, and returns the base of its addresses.
func listen(t *testing.T, h http.Handler, prepare func(*http.Server, net.Listener) net.Listener) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, DisableGeneralOptionsHandler: true}
	base := "http://" + l.Addr().String()
	l = prepare(s, l)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return base
}

// The ways to serve: net/http alone, with its connections taking header lines, and with those answering plain requests too.
var (
	byTheMap = func(_ *http.Server, l net.Listener) net.Listener { return l }
	listened = func(s *http.Server, l net.Listener) net.Listener {
		s.ConnContext = httpfast.Context
		return httpfast.Listen(l)
	}
	prepared = func(s *http.Server, l net.Listener) net.Listener { return httpfast.WrapServer(s, l) }
)

// TestHeadByTheConnection: an answer whose head goes with the connection, or all of which does, has the same header lines as one whose
// head goes by net/http's map, each once, and no other bytes.
func TestHeadByTheConnection(t *testing.T) {
	t.Parallel()
	// Without the check of the contract, which can't see what goes with the connection.
	w, _, _ := newMemoryWorld(struct{ testing.TB }{t}, 1<<20)
	for range 30 {
		w.addPet(t, "available")
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	plain, ours, all := listen(t, w, byTheMap), listen(t, w, listened), listen(t, w, prepared)
	tag := header(w.list(t, "?limit=2"), "ETag")
	w.directory.change(t, w.other, func(c *keys.Caller) { c.Tenant = &plans.Tenant{ID: 3, Quota: plans.Quota{PerMinute: 0, PerDay: 1}} })
	ask := func(base string, i int, line, body string, headers []string) map[string]any {
		method, target, _ := strings.Cut(line, " ")
		r, err := http.NewRequestWithContext(context.Background(), method, base+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Authorization"] = []string{"Bearer " + w.key}
		r.Header["X-Request-Id"] = []string{"same"}
		for h := range slices.Chunk(headers, 2) {
			r.Header.Set(h[0], h[1])
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatalf("%d %s: %v", i, line, err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		for name, values := range res.Header {
			if len(values) != 1 {
				t.Errorf("%d %s: %s: %q", i, line, name, values)
			}
		}
		for _, own := range []string{"Date", "X-Ratelimit-Remaining", "Ratelimit", "Location"} {
			if res.Header[own] != nil {
				res.Header[own] = []string{"its own"}
			}
		}
		if method == http.MethodPost && res.StatusCode == http.StatusCreated {
			got = nil // It has an id of its own.
		}
		return map[string]any{"status": res.StatusCode, "length": res.ContentLength, "header": res.Header, "body": string(got)}
	}
	for i, tt := range []struct {
		line, body string
		headers    []string
	}{
		{"GET /v1/pets?limit=2", "", nil},
		{"GET /v1/pets?limit=2", "", nil},
		{"HEAD /v1/pets?limit=2", "", nil},
		{"GET /v1/pets?limit=2", "", []string{"If-None-Match", tag}},
		{"GET /v1/pets?limit=100&status=available&colour=red", "", nil},
		{"GET /v1/pets?limit=0", "", nil},
		{"GET /v1/pets/1", "", nil},
		{"GET /v1/pets/99", "", nil},
		{"GET /v1/store/orders", "", nil},
		{"GET /v1/usage", "", nil},
		{"POST /v1/pets", `{"name":"Rex","categoryId":1}`, []string{"Content-Type", "application/json"}},
		{"POST /v1/pets", `{"name":"Rex","categoryId":1}`, []string{"Content-Type", "application/json", "Prefer", "handling=strict"}},
		{"POST /v1/pets", `{`, []string{"Content-Type", "application/json"}},
		{"POST /v1/pets", `{}`, []string{"Content-Type", "text/plain"}},
		{"PATCH /v1/pets/1", `{"name":"Max"}`, []string{"Content-Type", "application/json"}},
		{"DELETE /v1/pets", "", nil},
		{"GET /v1/nothing", "", nil},
		{"OPTIONS /v1/pets", "", []string{"Origin", "https://x.example", "Access-Control-Request-Method", "GET"}},
		{"GET /v1/pets", "", []string{"Authorization", "Bearer pst_live_x"}},
		{"GET /v1/pets", "", []string{"Authorization", ""}},
		{"GET /v1/pets", "", []string{"Authorization", "Bearer " + w.other}},
		{"GET /v1/pets?x=" + strings.Repeat("x", maxURI), "", nil},
		{"GET /docs/errors", "", nil},
		{"GET /v1/openapi.yaml", "", []string{"Accept-Encoding", "gzip"}},
	} {
		want, got := ask(plain, i, tt.line, tt.body, tt.headers), ask(ours, i, tt.line, tt.body, tt.headers)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d %.60s (-map +connection):\n%.2000s", i, tt.line, diff)
		}
		for range 2 {
			// Often the second is a plain request on a connection that is idle: it waits until net/http has ended the first.
			time.Sleep(time.Millisecond)
			if diff := cmp.Diff(want, ask(all, i, tt.line, tt.body, tt.headers)); diff != "" {
				t.Errorf("%d %.60s (-map +prepared):\n%.2000s", i, tt.line, diff)
			}
		}
	}
}
