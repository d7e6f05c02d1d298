package api

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
)

// TestNotModified: a client that has the page gets the same headers as with it, and no content.
func TestNotModified(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/v1/pets?limit=2", "/v1/pets?status=sold", "/v1/store/orders?limit=2", "/v1/store/orders"} {
		for _, method := range []string{"GET", "HEAD"} {
			w := newFixture(t)
			for range 3 {
				w.addOrder(t, 1)
				w.addPet(t, catalog.Available)
			}
			full := w.do(w.request(method, target, ""))
			r := w.request(method, target, "", "If-None-Match", header(full, "ETag"))
			rec := w.do(r)
			checkAnswer(t, r, rec)
			if full.Code != 200 || rec.Code != 304 || rec.Body.Len() > 0 {
				t.Errorf("%s %s: %d, then %d %s", method, target, full.Code, rec.Code, rec.Body)
			}
			if diff := cmp.Diff(lasting(full), lasting(rec)); diff != "" {
				t.Errorf("%s %s: %s", method, target, diff)
			}
		}
	}
}

// lasting are the headers of an answer that do not tell of the one request or of the content.
func lasting(rec *httptest.ResponseRecorder) map[string][]string {
	h := rec.Result().Header.Clone()
	for name := range h {
		if strings.HasPrefix(name, "X-RateLimit") || slices.Contains([]string{"RateLimit", "X-Request-Id", "Content-Type", "Content-Length"}, name) {
			delete(h, name)
		}
	}
	return h
}

// TestTagKnowsWhatFollows: behind a full last page comes an animal. The body stays, but there is a next page now.
func TestTagKnowsWhatFollows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	last := w.do(w.request("GET", "/v1/pets?limit=1", ""))
	w.addPet(t, catalog.Available)
	rec := w.do(w.request("GET", "/v1/pets?limit=1", "", "If-None-Match", header(last, "ETag")))
	if rec.Code != 200 || rec.Body.String() != last.Body.String() || header(rec, "X-Next-Cursor") == "" {
		t.Errorf("%d %v %s", rec.Code, rec.Result().Header, rec.Body)
	}
}
