package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// TestListsShareARead: requests for the same page at the same time share a read and its error, and
// one whose client disconnects fails no other.
func TestListsShareARead(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	for range 40 {
		w.addPet(t, catalog.Available)
	}
	reads()
	count := w.pets.before
	w.pets.before = func() { count(); time.Sleep(10 * time.Millisecond) }
	for _, tt := range []struct {
		name    string
		query   string
		pending int
		err     error
		status  int
		want    int
	}{
		{"a stamp", "?limit=30", 0, nil, 200, 1},
		{"no stamp", "?limit=30", 1, nil, 200, 2},
		{"an error", "?limit=31", 0, errors.New("broken"), 500, 1},
		{"later", "?limit=31", 0, nil, 200, 1},
	} {
		v.pending, w.pets.err = tt.pending, tt.err
		synctest.Test(t, func(t *testing.T) {
			ctx, disconnect := context.WithCancel(t.Context())
			var all sync.WaitGroup
			ask := func(r *http.Request) {
				all.Go(func() {
					if rec := w.do(r); rec.Code != tt.status || tt.status == 200 && rec.Body.Len() == 0 {
						t.Errorf("%s: %d %s", tt.name, rec.Code, rec.Body)
					}
				})
				synctest.Wait()
			}
			ask(w.request("GET", "/v1/pets"+tt.query, "").WithContext(ctx))
			for range 3 {
				ask(w.request("GET", "/v1/pets"+tt.query, ""))
				ask(w.request("GET", "/v1/pets"+tt.query, "", "Accept-Encoding", "gzip"))
			}
			disconnect()
			all.Wait()
		})
		assert.Equal(t, reads(), tt.want, tt.name, "the store was read times")
	}
}
