package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/catalog"
)

const (
	rex = `{"name":"Rex","categoryId":7}`
	mia = `{"name":"Mia","categoryId":7}`
)

// sendOnce sends a POST with an idempotency key.
func (w *fixture) sendOnce(target, body, key string, headers ...string) *httptest.ResponseRecorder {
	return w.do(w.request("POST", target, body, append(headers, "Idempotency-Key", key)...))
}

// outcome is what a repeated request has in common with the first one.
func outcome(rec *httptest.ResponseRecorder) string {
	return http.StatusText(rec.Code) + " " + header(rec, "Location") + " " + rec.Body.String()
}

// TestReplay: the same request gets the same answer, counts, and adds nothing.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, body, again string }{
		{"/v1/pets", rex, rex},
		{"/v1/pets", rex, "  {\"categoryId\" : 7.0e0,\n\"status\":\"available\", \"x\":[], \"name\":\"R\\u0065x\"}"},
		{"/v1/store/orders", `{"petId":1}`, `{"quantity":1.0,"petId":1}`},
	} {
		w := newFixture(t)
		w.addPet(t, catalog.Available)
		first := w.sendOnce(c.target, c.body, "k")
		pets, orders := len(w.pets.pets[1]), len(w.orders.orders[1])
		w.setClock(at.Add(time.Second))
		second := w.sendOnce(c.target+"?x=1", c.again, `"k"`)
		if first.Code != 201 || outcome(first) != outcome(second) || header(first, "Location") == "" {
			t.Errorf("%s: first %s, then %s", c.again, outcome(first), outcome(second))
		}
		if header(first, "Idempotent-Replayed") != "" || header(second, "Idempotent-Replayed") != "true" {
			t.Errorf(
				"%s: Idempotent-Replayed %q, then %q",
				c.again,
				header(first, "Idempotent-Replayed"),
				header(second, "Idempotent-Replayed"),
			)
		}
		if len(w.pets.pets[1]) != pets || len(w.orders.orders[1]) != orders {
			t.Errorf("%s: added %v %v", c.again, w.pets.pets, w.orders.orders)
		}
		if header(first, "X-RateLimit-Remaining") != "59" || header(second, "X-RateLimit-Remaining") != "58" ||
			w.meter.admitted != 2 {
			t.Errorf("%s: %v, then %v", c.again, numbers(first), numbers(second))
		}
		if header(first, "X-Request-Id") == header(second, "X-Request-Id") {
			t.Errorf("%s: one request id for both", c.again)
		}
	}
}

// TestBadIdempotencyKeys: they are refused on every POST, before the body is looked into, and mean
// nothing elsewhere.
func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		for name, values := range map[string][]string{
			"256 characters": {strings.Repeat("k", 256)}, "control character": {"k\x01"}, "empty": {""},
			"two": {"k", "k"},
		} {
			w := newFixture(t)
			req := w.goodRequest(t, r)
			req.Header["Idempotency-Key"] = values
			if r.method == "POST" {
				refuses(t, w, req, 400, "idempotency_key_invalid", "Idempotency-Key must be")
			} else if rec := w.do(req); rec.Code != 200 {
				t.Errorf("%s %s %s: %d %s", r.method, r.path, name, rec.Code, rec.Body)
			}
		}
	}
}
