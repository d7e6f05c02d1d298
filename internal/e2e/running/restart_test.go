//go:build linux

package running_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// requestsDuringRestart returns how many requests each proxy gets while its servers are restarted.
func requestsDuringRestart() int64 {
	if os.Getenv("PETSTORE_SOAK") != "" {
		return 10_000
	}
	return 3_334
}

// TestProxies starts each proxy of deploy/proxy before two servers. It passes on addresses and
// errors, and loses no request while one server after the other is restarted.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind     proxyKind
		requests []request
	}{
		// nginx does not know that a server stops, so a POST may reach one that closes its
		// connection: it needs an Idempotency-Key.
		{nginx, []request{lists, lists, lists, lists, createsOnce}},
		{haproxy, []request{lists, lists, lists, createsOnce, creates}},
		{caddy, []request{lists, lists, lists, createsOnce, creates}},
	} {
		t.Run(tt.kind.program, func(t *testing.T) {
			t.Parallel()
			database := storetest.New(t)
			key := newCustomer(t, database)
			f := newPair(t, programs.Path(t, "petstore"), database.APIURL, newRedis(t))
			p := tt.kind.start(t, f)
			checkAddresses(t, p)
			checkErrors(t, p, key)
			if tt.kind.program == "nginx" {
				checkErrorsOfNginx(t, p)
			}
			if tt.kind.adminPort != "" {
				checkNoServerReady(t, tt.kind, f, key)
			}
			l := startLoad(p.client(t, "127.0.0.1"), key, 320, tt.requests...)
			l.await(200)
			begun := time.Now()
			f.restart(0)
			f.restart(1)
			t.Logf("two servers restarted in %v", time.Since(begun).Round(time.Millisecond))
			l.await(requestsDuringRestart())
			l.stop(t)
			checkNoServer(t, p, f, key)
			assert.True(t, !strings.Contains(p.logged(t), key), "the key is in the log")
		})
	}
}

// TestMaxFails: the line of deploy/proxy/nginx.conf is needed. With nginx's default, requests fail
// although one of two servers is ready.
func TestMaxFails(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	key := newCustomer(t, database)
	f := newPair(t, programs.Path(t, "petstore"), database.APIURL, newRedis(t), "PETSTORE_DRAIN_DELAY=0s")
	// by default 10 s, in which a busy machine starts no server
	p := nginx.start(t, f, " max_fails=0;", " fail_timeout=10m;")
	client := p.client(t, "127.0.0.1")
	f.servers[0].Stop(syscall.SIGTERM)
	for range 10 { // to the other server
		if got := send(client, key, lists, 0); got != "GET ok" {
			t.Fatal(got)
		}
	}
	f.start(0)
	f.servers[1].Stop(syscall.SIGTERM)
	assert.Contains(t, send(client, key, lists, 0), "lost: 503", "without a 503 of nginx max_fails=0 is not needed")
}

// checkAddresses: strangers are counted by the address from which they reach the proxy, whatever
// X-Forwarded-For they send.
func checkAddresses(t *testing.T, p *proxy) {
	t.Helper()
	for try := range 10 {
		forger, other := fmt.Sprint("127.0.1.", 2*try+1), fmt.Sprint("127.0.1.", 2*try+2)
		begun := time.Now()
		seen := map[string]bool{}
		client := p.client(t, forger)
		for range 6 { // three to each server
			seen[strangersRemaining(t, client, other, other+", "+other)] = true
		}
		got := strangersRemaining(t, p.client(t, other), other)
		if !begun.Truncate(time.Minute).Equal(time.Now().Truncate(time.Minute)) {
			continue // The servers count in minutes of the clock.
		}
		if !seen["5997"] {
			t.Errorf("after 6 requests of a stranger, remaining: %v, want 5997 on a server", seen)
		}
		assert.Equal(
			t,
			got,
			"5999",
			"another stranger has less if what the first one forged counts, or all count for the proxy",
		)
		return
	}
	t.Error("seven requests take a minute")
}

// strangersRemaining sends a request without a key, and returns how many more its sender may send.
func strangersRemaining(t *testing.T, client *http.Client, forged ...string) string {
	t.Helper()
	var headers []string
	for _, from := range forged {
		headers = append(headers, "X-Forwarded-For", from)
	}
	res := customer{t, client, ""}.sendOnce("GET /pets", "", headers...)
	if res.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a key: %s", res.Status)
	}
	return res.Header.Get("X-Ratelimit-Remaining")
}

// checkErrors: the API's own errors reach customers, also those of requests that proxies refuse
// too.
func checkErrors(t *testing.T, p *proxy, key string) {
	t.Helper()
	c := customer{t, p.client(t, "127.0.0.1"), key}
	for _, tt := range []struct{ line, body, code string }{
		{"GET /pets?limit=0", "", "invalid_parameter"},
		{"GET /nowhere", "", "route_not_found"},
		{"GET /pets?cursor=" + strings.Repeat("0", 9<<10), "", "uri_too_long"},
		{"POST /pets", `{"name":"` + strings.Repeat("x", 3<<19) + `","categoryId":7}`, "body_too_large"},
	} {
		res := c.sendOnce(tt.line, tt.body)
		if !strings.Contains(res.body, `"code":"`+tt.code+`"`) || res.Header.Get("X-Request-Id") == "" ||
			res.Header.Get("X-Ratelimit-Limit") == "" {
			t.Errorf("%s: %s %v %s", tt.code, res.Status, res.Header, res.body)
		}
	}
}

// checkErrorsOfNginx: what nginx refuses itself gets an error of the API's form.
func checkErrorsOfNginx(t *testing.T, p *proxy) {
	t.Helper()
	client := p.client(t, "127.0.0.1")
	// over HTTP/2, nginx closes the connection after headers that are too long
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	for _, tt := range []struct {
		url, opaque, header, body, want string
		status                          int
	}{
		{url: base, opaque: "/v1/pets/%zz", status: 400, want: "malformed_request"},
		{url: base, header: strings.Repeat("x", 20<<10), status: 400, want: "malformed_request"},
		{url: "http://api.example.com/v1/pets", status: 400, want: "malformed_request"},
		{url: base + "/pets", body: strings.Repeat(" ", 3<<20), status: 413, want: "body_too_large"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, strings.NewReader(tt.body))
		assert.NoError(t, err)
		req.URL.Opaque = tt.opaque
		req.Header.Set("X-Long", tt.header)
		res := exchange(t, client, req)
		if res.StatusCode != tt.status || res.Header.Get("Content-Type") != "application/json" ||
			res.Header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(res.body, `{"code":"`+tt.want+`",`) {
			t.Errorf(
				"%s%s: %s %v %s, want %d %s",
				tt.url,
				tt.opaque,
				res.Status,
				res.Header,
				res.body,
				tt.status,
				tt.want,
			)
		}
	}
}

// checkNoServerReady: if no server is ready, requests reach the servers nevertheless.
func checkNoServerReady(t *testing.T, kind proxyKind, f *pair, key string) {
	t.Helper()
	nobody := *f
	nobody.adminPort = freePort(t)
	p := kind.start(t, &nobody)
	client := p.client(t, "127.0.0.1")
	wait.Until(t, kind.program+" regards both servers as down", func() bool {
		return strings.Count(p.logged(t), kind.notReady) >= len(f.servers)
	})
	for range 4 {
		assert.Equal(t, send(client, key, lists, 0), "GET ok", "no server is ready")
	}
}

// checkNoServer: if no server answers, the proxy responds as the API does, before and after it has
// noticed. It kills the servers.
func checkNoServer(t *testing.T, p *proxy, f *pair, key string) {
	t.Helper()
	for _, s := range f.servers {
		s.Kill()
	}
	for range 3 {
		checkUnavailable(t, p, key)
		time.Sleep(time.Second) // in which the proxy asks each server for /readyz
	}
}

func checkUnavailable(t *testing.T, p *proxy, key string) {
	t.Helper()
	res := customer{t, p.client(t, "127.0.0.1"), key}.sendOnce("GET /pets", "")
	if res.StatusCode < 502 || res.Header.Get("Retry-After") != "1" ||
		res.Header.Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(res.body, `{"code":"unavailable",`) {
		t.Errorf("no server: %s %v %s", res.Status, res.Header, res.body)
	}
}
