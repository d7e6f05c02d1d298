package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

const (
	rex = `{"name":"Rex","categoryId":7}`
	mia = `{"name":"Mia","categoryId":7}`
)

// sendOnce sends a POST with an idempotency key.
func (w *fixture) sendOnce(target, body, key string, headers ...string) *httptest.ResponseRecorder {
	return w.do(w.request("POST", target, body, append(headers, "Idempotency-Key", key)...))
}

// repeated is what a repeated request has in common with the first one.
func repeated(rec *httptest.ResponseRecorder) string {
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
		if first.Code != 201 || repeated(first) != repeated(second) || header(first, "Location") == "" {
			t.Errorf("%s: first %s, then %s", c.again, repeated(first), repeated(second))
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

// TestBodyIsTheSameWithAKey: what a request creates is described by the same bytes with an
// Idempotency-Key and without, and so it is in a replay. Only its ID differs.
func TestBodyIsTheSameWithAKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first, second, _ := describedPets(t)
	var pets, orders []string
	number := 0
	for name := range first {
		for _, value := range []any{first[name], second[name]} {
			pet := maps.Clone(first)
			pet[name] = value
			pets = append(pets, bodyOf(t, pet))
		}
	}
	for _, name := range []string{`"{},\ß`, "<&>\u2028\u2029", "a\n\t\x7f", "ÄÖ漢🐕", strings.Repeat("ß", 255)} {
		pets = append(pets, bodyOf(t, map[string]any{"name": name, "categoryId": math.MinInt64}))
	}
	for _, quantity := range []int{1, catalog.MaxQuantity} {
		orders = append(orders, fmt.Sprintf(`{"petId":%%d,"quantity":%d}`, quantity))
	}
	withoutID := func(rec *httptest.ResponseRecorder) string {
		t.Helper()
		assert.Equal(t, rec.Code, 201, rec.Body)
		var created struct{ ID, PetID int64 }
		assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &created))
		body := strings.Replace(rec.Body.String(), fmt.Sprintf(`{"id":%d,`, created.ID), `{"id":0,`, 1)
		return strings.Replace(body, fmt.Sprintf(`"petId":%d,`, created.PetID), `"petId":0,`, 1)
	}
	compare := func(target string, body func() string) {
		t.Helper()
		want := withoutID(w.do(w.request("POST", target, body())))
		again, key := body(), strconv.Itoa(number)
		number++
		for range 2 {
			assert.Equal(t, withoutID(w.sendOnce(target, again, key)), want, target, again)
		}
	}
	w.setPlan(t, plans.Enterprise, plans.Quota{PerMinute: 1_000, PerDay: 1_000})
	for _, body := range pets {
		compare("/v1/pets", func() string { return body })
	}
	for _, body := range orders {
		compare("/v1/store/orders", func() string { return fmt.Sprintf(body, w.addPet(t, catalog.Available)) })
	}
}

// TestBadIdempotencyKeys: they are refused on every POST, before the body is looked into, and mean
// nothing elsewhere.
func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, r := range routesOf(routes) {
		for name, values := range map[string][]string{
			"256 characters": {strings.Repeat("k", 256)}, "control character": {"k\x01"}, "empty": {""},
			"two": {"k", "k"},
		} {
			w := newFixture(t)
			req := w.goodRequest(t, r)
			req.Header["Idempotency-Key"] = values
			if r.method == "POST" {
				refuses(t, w, req, 400, "idempotency_key_invalid", "Idempotency-Key must be")
			} else if rec := w.do(req); rec.Code != success(r) {
				t.Errorf("%s %s %s: %d %s", r.method, r.path, name, rec.Code, rec.Body)
			}
		}
	}
}
