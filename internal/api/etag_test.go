package api

import (
	"testing"

	"petstore.example/internal/catalog"
)

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
