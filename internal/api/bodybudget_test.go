package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/wait"
)

const animal = `{"name":"Mia","categoryId":7}`

// begin sends the head of a POST and all of its body but the end, which it returns.
func (c client) begin(t *testing.T, key string, length int, chunked bool) (end string) {
	t.Helper()
	body := strings.Repeat(" ", length-len(animal)) + animal
	head := "POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + key +
		"\r\n"
	if chunked {
		head, end = fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n", head, length), "\r\n0\r\n\r\n"
	} else {
		head = fmt.Sprintf("%sContent-Length: %d\r\n\r\n", head, length)
		body, end = body[:length-1], body[length-1:]
	}
	// The server may answer and close before all of it is written.
	_, _ = io.WriteString(c, head+body)
	return end
}

// TestBodiesFull: a tenant whose bodies in flight have used up its share gets 503 for another long
// one, which is refunded. Its short bodies and other tenants' long ones still arrive.
func TestBodiesFull(t *testing.T) {
	t.Parallel()
	for _, chunked := range []bool{false, true} {
		w := newFixture(t)
		addr := w.listen(t, time.Hour)
		post := func(key string, length int) (status int, code string) {
			t.Helper()
			conn := dial(t, addr)
			go func() { _, _ = io.WriteString(conn, conn.begin(t, key, length, chunked)) }()
			res, code := conn.answer(t)
			if after := res.Header.Get("Retry-After"); res.StatusCode == 503 && (after != "1" || !res.Close) {
				t.Errorf("503 with Retry-After %q, closes %v", after, res.Close)
			}
			return res.StatusCode, code
		}
		slow := dial(t, addr)
		end := slow.begin(t, w.key, jsonbody.MaxBytes, chunked)
		wait.Until(t, "a body that is reserved", func() bool { return w.bodyBytes(t) >= jsonbody.MaxBytes-freeBody })
		if status, code := post(w.key, jsonbody.MaxBytes); status != 503 || code != "unavailable" {
			t.Errorf("chunked %v, a second body: %d %q, want 503 unavailable", chunked, status, code)
		}
		assert.Equal(t, w.meter.refunded, 1, "chunked", chunked, "requests are refunded")
		if status, _ := post(w.key, freeBody-1); status != 201 {
			t.Errorf("chunked %v, a short body: %d, want 201", chunked, status)
		}
		if status, _ := post(w.other, jsonbody.MaxBytes); status != 201 {
			t.Errorf("chunked %v, another tenant's body: %d, want 201", chunked, status)
		}
		slow.send(t, end)
		if res, _ := slow.answer(t); res.StatusCode != 201 {
			t.Errorf("chunked %v, the slow body: %d, want 201", chunked, res.StatusCode)
		}
		if status, _ := post(w.key, jsonbody.MaxBytes); status != 201 {
			t.Errorf("chunked %v, a body after it: %d, want 201", chunked, status)
		}
	}
}

// bodyBytes returns the metric of reserved memory.
func (w *fixture) bodyBytes(t *testing.T) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "petstore_body_bytes" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric petstore_body_bytes")
	return 0
}

// TestBodiesWithoutCaller: the bodies of clients without a key count for their networks.
func TestBodiesWithoutCaller(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Account = fakeAccount{} })
	addr := w.listen(t, time.Hour)
	slow := dial(t, addr)
	_, err := fmt.Fprintf(slow, "POST /account/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", maxForm,
		strings.Repeat("x", maxForm-1))
	assert.NoError(t, err)
	wait.Until(t, "a form that is reserved", func() bool { return w.bodyBytes(t) > maxForm-2*freeBody })
	slow.send(t, "x")
	res, err := http.ReadResponse(slow.answers, nil)
	assert.NoError(t, err)
	assert.Equal(t, res.StatusCode, http.StatusOK, "a form of the greatest length")
	assert.NoError(t, res.Body.Close())
	wait.Until(t, "no reserved memory", func() bool { return w.bodyBytes(t) == 0 })
}

// TestBodiesOnEveryRoute: no body makes a server fail, on any route, of any length, with and
// without a key and the fast path.
func TestBodiesOnEveryRoute(t *testing.T) {
	t.Parallel()
	lengths := []int{0, freeBody - 1, freeBody + 1, 64 << 10, jsonbody.MaxBytes}
	for mode := range contract.Modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(c *Config) { c.Account = fakeAccount{} })
			w.addresses.limit = 1 << 30
			w.setPlan(t, plans.Pro, plans.Quota{PerMinute: 1 << 30, PerDay: 1 << 30})
			addr := contract.Listen(t, server(w.Handler), mode).Host
			paths := strings.NewReplacer("{petId}", "1", "{orderId}", "1", "{keyId}", "x", "{requestId}", "x")
			forms := []route{{method: "POST", path: "/account/sign-in"}, {method: "GET", path: "/account"}}
			for _, r := range append(append(routesOf(table()), forms...), route{method: "POST", path: "/nowhere"}) {
				for _, length := range lengths {
					for _, key := range []string{"", w.key} {
						for _, chunked := range []bool{false, true} {
							request := withBody(r.method, paths.Replace(r.path), key, length, chunked)
							if code := sendAfter(t, addr, request); code < 200 || code >= 500 {
								t.Errorf(
									"%s %s, body %d, chunked %t, key %t: %d",
									r.method,
									r.path,
									length,
									chunked,
									key != "",
									code,
								)
							}
						}
					}
				}
			}
		})
	}
}

// withBody is a request with a body of that length.
func withBody(method, path, key string, length int, chunked bool) string {
	head := method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	if key != "" {
		head += "Authorization: Bearer " + key + "\r\n"
	}
	body := strings.Repeat(" ", length)
	if !chunked {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, length, body)
	}
	if length > 0 {
		body = fmt.Sprintf("%x\r\n%s\r\n", length, body)
	}
	return head + "Transfer-Encoding: chunked\r\n\r\n" + body + "0\r\n\r\n"
}

// sendAfter returns the status of a request. Another one comes before it on its connection, because
// the fast path has no connection's first.
func sendAfter(t *testing.T, addr, request string) int {
	t.Helper()
	conn := dial(t, addr)
	conn.send(t, "GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n")
	conn.answer(t)
	// The server may answer and close before all of a long body is written.
	go func() { _, _ = io.WriteString(conn, request) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(conn.answers, &http.Request{Method: method})
	assert.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	assert.NoError(t, errors.Join(err, res.Body.Close()), request[:strings.IndexByte(request, '\r')])
	_ = conn.Close()
	return res.StatusCode
}
