package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			t.Errorf("%s: Idempotent-Replayed %q, then %q", c.again, header(first, "Idempotent-Replayed"), header(second, "Idempotent-Replayed"))
		}
		if len(w.pets.pets[1]) != pets || len(w.orders.orders[1]) != orders {
			t.Errorf("%s: added %v %v", c.again, w.pets.pets, w.orders.orders)
		}
		if header(first, "X-RateLimit-Remaining") != "59" || header(second, "X-RateLimit-Remaining") != "58" || w.meter.admitted != 2 {
			t.Errorf("%s: %v, then %v", c.again, numbers(first), numbers(second))
		}
		if header(first, "X-Request-Id") == header(second, "X-Request-Id") {
			t.Errorf("%s: one request id for both", c.again)
		}
	}
}

// TestScope: a key belongs to a tenant and a path, and lasts 24 hours.
func TestScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	ids := []string{}
	send := func(target, body, key string, headers ...string) {
		t.Helper()
		rec := w.sendOnce(target, body, key, headers...)
		if rec.Code != 201 {
			t.Errorf("%s %s: %d %s", target, key, rec.Code, rec.Body)
		}
		ids = append(ids, strings.TrimPrefix(header(rec, "Location"), baseURL)+header(rec, "Idempotent-Replayed"))
	}
	send("/v1/pets", rex, "k")
	send("/v1/store/orders", `{"petId":1}`, "k")
	send("/v1/pets", rex, "k", "Authorization", "Bearer "+w.other)
	send("/v1/pets", rex, "K")
	send("/v1/pets", rex, `"k"`)
	w.setClock(at.Add(catalog.IdempotencyLifetime - 1))
	send("/v1/pets", rex, "k")
	w.setClock(at.Add(catalog.IdempotencyLifetime))
	send("/v1/pets", mia, "k")
	want := []string{"/pets/2", "/store/orders/1", "/pets/3", "/pets/4", "/pets/2true", "/pets/2true", "/pets/5"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}

func TestKeyReused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	if rec := w.sendOnce("/v1/pets", rex, "k"); rec.Code != 201 {
		t.Fatal(rec.Body)
	}
	refuses(t, w, w.request("POST", "/v1/pets", mia, "Idempotency-Key", "k"), 422, "idempotency_key_reused", "another body")
	if rec := w.sendOnce("/v1/store/orders", `{"petId":1}`, "k"); rec.Code != 201 {
		t.Fatal(rec.Body)
	}
	// Before the animal is looked for.
	refuses(t, w, w.request("POST", "/v1/store/orders", `{"petId":99}`, "Idempotency-Key", "k"), 422, "idempotency_key_reused", "another body")
	refuses(t, w, w.request("POST", "/v1/store/orders", `{"petId":1,"quantity":2}`, "Idempotency-Key", "k"), 422, "idempotency_key_reused", "another body")
}

// TestInProgress sends a request again while the first is worked on.
func TestInProgress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	working, goOn, done := make(chan bool), make(chan bool), make(chan *httptest.ResponseRecorder)
	w.pets.before = func() { working <- true; <-goOn }
	go func() { done <- w.sendOnce("/v1/pets", rex, "k") }()
	<-working
	for _, body := range []string{rex, mia} {
		r := w.request("POST", "/v1/pets", body, "Idempotency-Key", "k")
		rec := w.do(r)
		if code := checkError(t, r, rec); rec.Code != 409 || code != "idempotency_in_progress" || header(rec, "Retry-After") != "1" {
			t.Errorf("%d %s, Retry-After %s", rec.Code, rec.Body, header(rec, "Retry-After"))
		}
	}
	close(goOn)
	first := <-done
	w.pets.before = nil
	if second := w.sendOnce("/v1/pets", rex, "k"); first.Code != 201 || outcome(first) != outcome(second) {
		t.Errorf("%s, then %s", outcome(first), outcome(second))
	}
}

// TestOnlySuccessIsStored: what was refused can be corrected and sent with the same key.
func TestOnlySuccessIsStored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Pending)
	for _, c := range []struct {
		target, body string
		before       func()
		want         int
	}{
		{"/v1/pets", `{"name":"Rex"}`, func() {}, 400},
		{"/v1/pets", rex, func() { w.pets.err = catalog.ErrUnavailable }, 503},
		{"/v1/pets", rex, func() { w.pets.err = nil; w.pets.before = func() { panic("bug") } }, 500},
		{"/v1/pets", mia, func() { w.pets.before = nil }, 201},
		{"/v1/store/orders", `{"petId":9}`, func() {}, 404},
		{"/v1/store/orders", `{"petId":1}`, func() {}, 409},
		{"/v1/store/orders", `{"petId":1}`, func() { w.pets.pets[1][0].Status = catalog.Available }, 201},
	} {
		c.before()
		rec := w.sendOnce(c.target, c.body, "k")
		if rec.Code != c.want || header(rec, "Idempotent-Replayed") != "" {
			t.Errorf("%s %s: %d %s, want %d", c.target, c.body, rec.Code, rec.Body, c.want)
		}
	}
}

// TestBadIdempotencyKeys: they are refused on every POST, before the body is looked into, and mean nothing elsewhere.
func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		for name, values := range map[string][]string{
			"256 characters": {strings.Repeat("k", 256)}, "control character": {"k\x01"}, "empty": {""}, "two": {"k", "k"},
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
