package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

func unpacked(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	if header(rec, "Content-Encoding") != "gzip" {
		t.Fatalf("not compressed: %v", rec.Result().Header)
	}
	r, err := gzip.NewReader(bytes.NewReader(rec.Body.Bytes()))
	assert.NoError(t, err)
	content, err := io.ReadAll(r)
	assert.NoError(t, err)
	return string(content)
}

// TestCompressedLists: who accepts gzip gets a long list compressed, from the store and from the
// cache, with the same content and headers but for those of the encoding. Each form's ETag finds
// the other one unchanged. Everybody else gets what they always got.
func TestCompressedLists(t *testing.T) {
	t.Parallel()
	cached, _, reads := newCachingFixture(t)
	stored := newFixture(t)
	for _, w := range []*fixture{cached, stored} {
		for range 30 {
			w.addOrder(t, 1)
			w.addPet(t, catalog.Available)
		}
		for _, target := range []string{"/v1/pets?limit=30", "/v1/store/orders?limit=30"} {
			get := func(method string, headers ...string) *httptest.ResponseRecorder {
				return w.do(w.request(method, target, "", headers...))
			}
			get("GET") // The second request stores the page, the third one adds its compressed form.
			for range 3 {
				plain, packed := get("GET"), get("GET", "Accept-Encoding", "br, gzip")
				if unpacked(t, packed) != plain.Body.String() || packed.Body.Len() > plain.Body.Len()/2 ||
					header(plain, "Content-Encoding") != "" {
					t.Errorf("%s: %d bytes for %d", target, packed.Body.Len(), plain.Body.Len())
				}
				if tag := header(plain, "ETag"); header(packed, "ETag") != "W/"+tag || !strings.HasPrefix(tag, `"`) {
					t.Errorf("%s: tags %s and %s", target, tag, header(packed, "ETag"))
				}
				for _, name := range []string{"Link", "X-Next-Cursor", "Vary"} {
					if header(plain, name) != header(packed, name) || header(packed, "Vary") != "Accept-Encoding" {
						t.Errorf("%s: %s is %q, compressed %q", target, name, header(plain, name), header(packed, name))
					}
				}
				if head := get(
					"HEAD",
					"Accept-Encoding",
					"gzip",
				); head.Body.Len() > 0 ||
					header(head, "Content-Length") != strconv.Itoa(packed.Body.Len()) {
					t.Errorf("%s: HEAD has %v", target, head.Result().Header)
				}
				for _, tag := range []string{header(plain, "ETag"), header(packed, "ETag")} {
					for _, accepted := range []string{"", "gzip"} {
						rec := get("GET", "If-None-Match", tag, "Accept-Encoding", accepted)
						if rec.Code != 304 || rec.Body.Len() > 0 || header(rec, "Content-Encoding") != "" ||
							header(rec, "Vary") != "Accept-Encoding" {
							t.Errorf("%s: %s of %q: %d %v", target, tag, accepted, rec.Code, rec.Result().Header)
						}
					}
				}
			}
		}
	}
	reads()
	cached.list(t, "?limit=30", "Accept-Encoding", "gzip")
	assert.Equal(t, reads(), 0, "the compressed page was read from the store times")
}

// TestShortListsAreNotCompressed, and neither is anything else than lists.
func TestShortListsAreNotCompressed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	for target, status := range map[string]int{"/v1/pets": 200, "/v1/usage": 200, "/v1/pets/1": 200,
		"/v1/pets?limit=0": 400, "/v1/nothing": 404} {
		rec := w.do(w.request("GET", target, "", "Accept-Encoding", "gzip"))
		if rec.Code != status || header(rec, "Content-Encoding") != "" || rec.Result().Header["Vary"] != nil {
			t.Errorf("%s: %d %v", target, rec.Code, rec.Result().Header)
		}
	}
}

// TestOneItemIsNotCompressed: a list with one long animal has its strong tag, with which the animal
// can be changed.
func TestOneItemIsNotCompressed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	body := `{"name":"` + strings.Repeat("\U0001F415", 255) + `","categoryId":1}`
	w.do(w.request("POST", "/v1/pets", body, "Content-Type", "application/json"))
	rec := w.do(w.request("GET", "/v1/pets", "", "Accept-Encoding", "gzip"))
	if rec.Body.Len() <= pagecache.MinGzip || header(rec, "Content-Encoding")+header(rec, "Vary") != "" {
		t.Fatalf("%d bytes, %v", rec.Body.Len(), rec.Result().Header)
	}
	changed := w.do(
		w.request(
			"PATCH",
			"/v1/pets/1",
			`{"categoryId":2}`,
			"Content-Type",
			"application/json",
			"If-Match",
			header(rec, "ETag"),
		),
	)
	assert.Equal(t, changed.Code, 200, changed.Body)
}
