package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/loglimit"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// event returns the one event in the log.
func event(t *testing.T, w *fixture) map[string]any {
	t.Helper()
	var e map[string]any
	assert.NoError(t, json.Unmarshal([]byte(w.logs.String()), &e), "not one event", w.logs)
	return e
}

func TestEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pets.err = errors.New("pets are out")
	w.do(w.request("GET", "/v1/pets/7?limit=5", "", "X-Request-Id", "r-1", "User-Agent", "curl/8.5.0"))
	want := map[string]any{
		"level":      "error",
		"request_id": "r-1",
		"method":     "GET",
		"route":      "/v1/pets/{petId}",
		"status":     500.0,
		"code":       "internal_error",
		"tenant":     "acme",
		"tenant_id":  1.0,
		"key":        "key_acme",
		"plan":       "free",
		"error":      "pets are out",
		"address":    "192.0.2.1",
		"user_agent": "curl/8.5.0",
		"message":    "request",
	}
	ignored := cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "duration_ms" || k == "bytes" })
	if diff := cmp.Diff(want, event(t, w), ignored); diff != "" {
		t.Error(diff)
	}
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	counted := map[string]string{}
	for _, f := range families {
		if f.GetName() == "petstore_http_requests_total" {
			for _, l := range f.GetMetric()[0].GetLabel() {
				counted[l.GetName()] = l.GetValue()
			}
		}
	}
	labels := map[string]string{"method": "GET", "plan": "free", "route": "/v1/pets/{petId}", "status": "500"}
	assert.DeepEqual(t, counted, labels)
}

func TestPanicIsLogged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pets.before = func() { panic("out of pets") }
	w.do(w.request("GET", "/v1/pets", ""))
	e := event(t, w)
	stack, _ := e["stack"].(string)
	if e["error"] != "panic: out of pets" || !strings.Contains(stack, "listPets") {
		t.Errorf("event %v", e)
	}
}

// TestRefusalsNameTheClient: the line of a request that failed says who sent it, also if its key is
// no longer valid. That of one that was served does not.
func TestRefusalsNameTheClient(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.TrustedProxies = []string{"192.0.2.1"} })
	send := func(headers ...string) map[string]any {
		t.Helper()
		before := len(w.logs.String())
		w.do(w.request("GET", "/v1/pets", "", headers...))
		var e map[string]any
		assert.NoError(t, json.Unmarshal([]byte(w.logs.String()[before:]), &e))
		return e
	}
	const agent = "python-requests/2.31.0"
	if e := send("User-Agent", agent); e["status"] != 200.0 || e["address"] != nil || e["user_agent"] != nil {
		t.Errorf("served: %v", e)
	}
	e := send("Authorization", "", "User-Agent", agent, "X-Forwarded-For", "203.0.113.7:4711, 198.51.100.9:33")
	if e["code"] != "missing_api_key" || e["address"] != "198.51.100.9" || e["user_agent"] != agent ||
		e["tenant"] != nil {
		t.Errorf("without a key: %v", e)
	}
	w.directory.fail(keys.StatusError(keys.Revoked))
	if e := send(
		"X-Forwarded-For",
		"2001:db8::1",
	); e["reason"] != "revoked" || e["tenant"] != "acme" || e["tenant_id"] != 1.0 ||
		e["key"] != "key_acme" || e["address"] != "2001:db8::1" ||
		e["user_agent"] != nil {
		t.Errorf("revoked: %v", e)
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"": "", "curl/8.5.0": "curl/8.5.0",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
		"a\x00b\x1b[31mc\x7fd é":                             "a?b?[31mc?d ?",
		strings.Repeat("ab ", 100):                           strings.Repeat("ab ", 53) + "a",
		"x PST_live_a":                                       "[redacted]",
		"Bearer " + strings.Repeat("a1B", 8):                 "[redacted]",
		strings.Repeat("a1", 11) + "z":                       strings.Repeat("a1", 11) + "z",
	} {
		assert.Equal(t, userAgent(http.Header{"User-Agent": {sent}}), want, sent)
	}
	assert.Equal(t, userAgent(http.Header{}), "", "without one")
}

// TestLogIsSampled: of many requests without a valid key some are logged, and how many more there
// were. The same holds for those with one that count in no window. All that count are logged, and
// of failures on our side one a second.
func TestLogIsSampled(t *testing.T) {
	t.Parallel()
	const each = 3 * sampledLines
	w, begun := newFixture(t), time.Now()
	w.addresses.limit = 5
	ask := func(path string) int { return w.do(w.request("GET", path, "")).Code }
	for n := range each {
		w.do(w.request("GET", "/v1/pets", "", "Authorization", ""))
		w.sendUnknown(t, "/v1/pets")
		w.do(w.request("OPTIONS", "/v1/pets", ""))
		ask("/v1/usage")
		if status := ask("/v1/pets"); (status == 429) != (n >= 60) {
			t.Fatalf("request %d: %d", n, status)
		}
	}
	w.directory.fail(errors.New("bug"))
	w.addresses.limit = 1_000_000
	for range each {
		w.sendUnknown(t, "/v1/pets")
	}
	want := map[string]int{"stranger": 3 * each, "uncounted": 2*each - 60, "counted": 60, "bug": each}
	var found logged
	wait.Until(t, "logged and suppressed requests", func() bool {
		found = read(t, w.logs.String())
		return cmp.Equal(want, found.requests)
	}, func() string { return cmp.Diff(want, found.requests) })
	if lines := found.lines["bug"]; lines > 1+int(time.Since(begun)/loglimit.Period) {
		t.Errorf("%d lines of one kind of failure in %v", lines, time.Since(begun))
	}
	for kind, lines := range found.lines {
		if most := sampledLines * (2 + int(time.Since(begun)/samplePeriod)); kind != "bug" && kind != "counted" &&
			(lines < sampledLines || lines > most) {
			t.Errorf("%d lines of %s, want %d to %d", lines, kind, sampledLines, most)
		}
	}
}

// logged is what a log has of each kind of requests: lines, and requests with those that were
// suppressed.
type logged struct {
	lines, requests map[string]int
}

func read(t *testing.T, log string) logged {
	t.Helper()
	found := logged{lines: map[string]int{}, requests: map[string]int{}}
	for line := range strings.Lines(log) {
		var e struct {
			Message, Key, Code, Route string
			Suppressed                int
		}
		assert.NoError(t, json.Unmarshal([]byte(line), &e))
		kind := "stranger"
		switch {
		case e.Message == "requests that did not count", e.Key != "" && (e.Code != "" || e.Route == "/v1/usage"):
			kind = "uncounted"
		case e.Key != "":
			kind = "counted"
		case e.Code == "internal_error":
			kind = "bug"
		}
		found.requests[kind] += e.Suppressed
		if e.Message == "request" {
			found.lines[kind]++
			found.requests[kind]++
		}
	}
	return found
}

// brokenWriter panics in the middle of an answer.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { panic("no more") }

// TestPanicsThatCutTheConnection: one in the middle of a response is logged as an error, so that
// the event is neither left out nor held back, and a handler that asks for the connection to be cut
// is logged too.
func TestPanicsThatCutTheConnection(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"late": true, "abort": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			rec := http.ResponseWriter(httptest.NewRecorder())
			if late {
				rec = brokenWriter{rec}
			} else {
				w.pets.before = func() { panic(http.ErrAbortHandler) }
			}
			defer func() {
				//nolint:errorlint // net/http looks for the value itself.
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("recovered %v", v)
				}
				if e := event(
					t,
					w,
				); late &&
					(e["level"] != "error" || e["error"] != "panic: no more" || e["stack"] == nil) {
					t.Errorf("event %v", e)
				}
			}()
			w.ServeHTTP(rec, w.request("GET", "/v1/pets", ""))
		})
	}
}

// TestSecretsStayOut puts the key wherever a client can put it.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"", "bug", "panic"} {
		// Each request has a log of its own: of several failures it would hold one.
		for n := 0; sendSecret(t, fault, n); n++ {
		}
	}
}

// sendSecret sends the n-th of the requests with the key in another place. It returns false if
// there are not so many.
func sendSecret(t *testing.T, fault string, n int) bool {
	t.Helper()
	w := newFixture(t, func(c *Config) { c.Log = c.Log.Level(zerolog.TraceLevel) })
	switch fault {
	case "bug":
		w.pets.err = errors.New("bug")
	case "panic":
		w.pets.before = func() { panic("bug") }
	}
	requests := withSecret(w)
	if n == len(requests) {
		return false
	}
	w.do(requests[n])
	logs := w.logs.String()
	assert.Equal(t, strings.Count(logs, "\n"), 1, "events for a request")
	if strings.Contains(strings.ToLower(logs), "pst_live_") || strings.Contains(logs, w.key[9:39]) {
		t.Errorf("a key in the log: %s", logs)
	}
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	for _, f := range families {
		assert.True(t, !strings.Contains(f.String(), "pst_live_"), "a key in the metrics", f)
	}
	return true
}

// withSecret returns requests with the key in every place where a client can put it.
func withSecret(w *fixture) []*http.Request {
	return []*http.Request{
		w.request("GET", "/v1/pets?key="+w.key, ""),
		w.request("GET", "/v1/pets?limit="+w.key+"&status="+w.key+"&cursor="+w.key, ""),
		w.request("GET", "/v1/pets?"+w.key+"=%zz", ""),
		w.request("GET", "/v1/pets/"+w.key, ""),
		w.request("GET", "/"+w.key, ""),
		w.request(w.key, "/v1/pets", ""),
		w.request("GET", "/v1/pets", "", "X-Request-Id", w.key),
		w.request("GET", "/v1/pets", "", "X-Request-Id", "id:"+strings.ToUpper(w.key)),
		w.request("GET", "/v1/pets", "", "User-Agent", w.key, "Referer", w.key, "Cookie", "k="+w.key),
		w.request("GET", "/v1/pets", "", "Authorization", "Basic "+w.key),
		w.request("GET", "/v1/pets", "", "Authorization", w.key),
		w.request("POST", "/v1/pets", `{"name":"`+w.key+`","categoryId":7}`),
		w.request("POST", "/v1/pets", `{"`+w.key+`":1,"`+w.key+`":2}`),
		w.request("POST", "/v1/pets", `{"status":"`+w.key+`"}`),
		w.request("POST", "/v1/pets", `{"name":`+w.key+`}`),
		w.request("POST", "/v1/pets", `{}`, "Content-Type", w.key),
		w.request("POST", "/v1/pets", rex, "Idempotency-Key", w.key),
		w.request("POST", "/v1/pets", rex, "Idempotency-Key", w.key+" "),
		w.request("POST", "/v1/pets", mia, "Idempotency-Key", w.key),
		w.request("POST", "/v1/pets", `{"`+w.key+`":1}`, "Prefer", "handling=strict, "+w.key),
		w.request("GET", "/v1/pets", "", "If-None-Match", `"`+w.key+`"`, "Origin", "https://"+w.key),
		w.request("PATCH", "/v1/store/orders/"+w.key, `{"status":"`+w.key+`"}`),
		w.request("GET", "/v1/pets", "", "Authorization", "", "User-Agent", w.key[9:]),
		w.request("GET", "/v1/pets", "", "Authorization", "", "User-Agent", "key="+strings.ToUpper(w.key)),
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for id, used := range map[string]bool{
		"": false, "a": true, "8e03978e-40d5-43e8-bc93-6894a57f9324": true, "AbC/1+2=~:@.x_y": true,
		strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"a b": false, "a\tb": false, "ä": false, `a"b`: false, "a\x7f": false, "{}": false, "<script>": false,
		w.key: false, "x" + w.key: false, "pst_test_": false, "PST_LIVE_x": false, "pst": true,
	} {
		rec := w.do(w.request("GET", "/v1/pets", "", "X-Request-Id", id))
		if got := header(rec, "X-Request-Id"); (got == id) != used || got == "" {
			t.Errorf("X-Request-Id %q: answered %q, used should be %v", id, got, used)
		}
	}
	r := w.request("GET", "/v1/pets", "")
	r.Header["X-Request-Id"] = []string{"a", "b"}
	if got := header(w.do(r), "X-Request-Id"); got == "a" || got == "b" {
		t.Errorf("two ids: used %q", got)
	}
}
