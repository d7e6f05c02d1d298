package api

import (
	"context"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
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
		c.Addresses = plans.NewAddresses(math.MaxInt64)
		c.Strikes = noStrikes{}
		c.Refusals = usage.NewRefusals(nil, usage.Options{})
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

// BenchmarkRefusedByKey is a request over the key's own limit.
func BenchmarkRefusedByKey(b *testing.B) {
	benchmark(b, func(w *world) *http.Request {
		w.directory.change(b, w.key, func(c *keys.Caller) { c.PerMinute = 1 })
		return list(w)
	}, plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64})
}

// BenchmarkBanned is a request of a banned key.
func BenchmarkBanned(b *testing.B) {
	benchmark(b, func(w *world) *http.Request {
		w.directory.change(b, w.key, func(c *keys.Caller) {
			c.Ban = &keys.Ban{Reason: keys.AutomaticReason, EndsAt: at.Add(15 * time.Minute)}
		})
		return list(w)
	}, plans.Quota{PerMinute: 1, PerDay: 1})
}

// BenchmarkBadKey is a request with a key whose checksum is wrong.
func BenchmarkBadKey(b *testing.B) {
	benchmark(b, func(w *world) *http.Request {
		wrong := []byte(w.key)
		wrong[len(wrong)-1] ^= 1
		return w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+string(wrong))
	}, plans.Quota{PerMinute: 1, PerDay: 1})
}

// noStrikes leaves out what the process does about refusals in the background.
type noStrikes struct{}

func (noStrikes) Refused(context.Context, *keys.Caller, time.Time) {}

// BenchmarkUsage is GET /v1/usage, whose month is in memory.
func BenchmarkUsage(b *testing.B) {
	benchmark(b, func(w *world) *http.Request { return w.request("GET", "/v1/usage", "") }, plans.Quota{PerMinute: 60, PerDay: 1000})
}
