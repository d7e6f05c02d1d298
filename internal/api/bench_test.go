package api

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// discard is an answer that nobody reads; its header map is used again, as that of a kept connection is not.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func benchmark(b *testing.B, r func(*world) *http.Request, q plans.Quota) {
	w := newWorld(b, func(c *Config) {
		c.Log = zerolog.Nop()
		c.Clock = func() time.Time { return at }
	})
	w.directory.change(b, w.key, func(c *keys.Caller) { c.Tenant = &plans.Tenant{ID: 1, Plan: plans.Enterprise, Quota: q} })
	for range 20 {
		if _, err := w.pets.CreatePet(b.Context(), 1, catalog.NewPet{Name: "Rex the dog", CategoryID: 7, Status: catalog.Available}); err != nil {
			b.Fatal(err)
		}
	}
	req := r(w)
	out := &discard{h: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(out.h)
		w.ServeHTTP(out, req)
	}
}

func list(w *world) *http.Request { return w.request("GET", "/v1/pets?limit=20", "") }

// BenchmarkList is GET /v1/pets?limit=20 through all of the API, over fakes.
func BenchmarkList(b *testing.B) {
	benchmark(b, list, plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64})
}

// BenchmarkRefused is a request over the limit.
func BenchmarkRefused(b *testing.B) { benchmark(b, list, plans.Quota{PerMinute: 1, PerDay: 1}) }

// BenchmarkUnauthorized is a request with a key that is none.
func BenchmarkUnauthorized(b *testing.B) {
	benchmark(b, func(w *world) *http.Request {
		return w.request("GET", "/v1/pets", "", "Authorization", "Bearer pst_live_x")
	}, plans.Quota{PerMinute: 1, PerDay: 1})
}
