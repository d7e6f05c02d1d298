package api

import (
	"net/http"
	"testing"
	"time"
)

// removal is the first instant of 5 December 2030, from which on GET /v1/pets/{petId} is gone.
var removal = time.Unix(1922659200, 0)

func TestRemoval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		now    time.Time
		method string
		key    bool
		want   int
	}{
		{"a second before", removal.Add(-time.Second), "GET", true, 200},
		{"a nanosecond before", removal.Add(-1), "GET", true, 200},
		{"at the instant", removal, "GET", true, 410},
		{"at the instant", removal, "HEAD", true, 410},
		{"at the instant, without a key", removal, "GET", false, 401},
		{"years after", removal.AddDate(3, 0, 0), "GET", true, 410},
		{"the replacement at the instant", removal, "LIST", true, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.setClock(c.now)
			r := w.goodRequest(t, route{method: c.method, path: "/v1/pets/{petId}"})
			if c.method == "LIST" {
				r = w.request(http.MethodGet, "/v1/pets?status=available", "")
			}
			if !c.key {
				r.Header.Del("Authorization")
			}
			rec := w.do(r)
			if rec.Code != c.want {
				t.Errorf("%d %s, want %d", rec.Code, rec.Body, c.want)
			}
			checkAnswer(t, r, rec)
			if c.want == 410 && c.method == "GET" {
				if code := checkError(t, r, rec); code != "endpoint_removed" {
					t.Errorf("code %s", code)
				}
			}
		})
	}
}
