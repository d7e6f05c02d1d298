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
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// discard is a response that nobody reads, on a connection that keeps a value. Its header map is used again, as that of the fast path is.
type discard struct {
	fakeConn
	h http.Header
}

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// measured is an API over fakes, nothing of which is counted, and a request of a tenant with that quota.
func measured(tb testing.TB, r func(testing.TB, *fixture) *http.Request, q plans.Quota) (ask func()) {
	ask, _ = measuredRequest(tb, r, q)
	return ask
}

func measuredRequest(
	tb testing.TB, r func(testing.TB, *fixture) *http.Request, q plans.Quota, change ...func(*Config),
) (ask func(), _ *http.Request) {
	w := newFixture(struct{ testing.TB }{tb}, append(change, func(c *Config) {
		if len(change) == 0 {
			c.Log = zerolog.Nop()
		}
		c.Clock = func() time.Time { return at }
		c.Addresses = limits.NewAddresses(math.MaxInt64)
		c.Strikes = noStrikes{}
		c.Refusals = usage.NewRefusals(nil, usage.Options{})
	})...)
	w.setPlan(tb, plans.Enterprise, q)
	for range 20 {
		if _, err := w.pets.CreatePet(tb.Context(), 1, catalog.NewPet{Name: "Rex the dog", CategoryID: 7, Status: catalog.Available}); err != nil {
			tb.Fatal(err)
		}
	}
	req := r(tb, w)
	out := &discard{h: http.Header{}}
	return func() {
		clear(out.h)
		w.ServeHTTP(out, req)
	}, req
}

func benchmark(b *testing.B, r func(testing.TB, *fixture) *http.Request, q plans.Quota) {
	ask := measured(b, r, q)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// The requests that are measured, and quotas that have room for all and for one.
var (
	noLimit = plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64}
	one     = plans.Quota{PerMinute: 1, PerDay: 1}
)

func list(_ testing.TB, w *fixture) *http.Request { return w.request("GET", "/v1/pets?limit=20", "") }

func listOverKeyLimit(tb testing.TB, w *fixture) *http.Request {
	w.directory.change(tb, w.key, func(c *keys.Caller) { c.PerMinute = 1 })
	return list(tb, w)
}

func listBanned(tb testing.TB, w *fixture) *http.Request {
	w.directory.change(tb, w.key, func(c *keys.Caller) {
		c.Ban = &keys.Ban{Reason: keys.AutomaticReason, EndsAt: at.Add(15 * time.Minute)}
	})
	return list(tb, w)
}

func badKey(_ testing.TB, w *fixture) *http.Request {
	wrong := []byte(w.key)
	wrong[len(wrong)-1] ^= 1
	return w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+string(wrong))
}

func askUsage(_ testing.TB, w *fixture) *http.Request { return w.request("GET", "/v1/usage", "") }

// noStrikes leaves out what the process does about refusals in the background.
type noStrikes struct{}

func (noStrikes) Refused(context.Context, *keys.Caller, time.Time) {}

// TestRefusalsAllocateLittle: who floods us costs us little. It does not run beside others, whose allocations would count.
func TestRefusalsAllocateLittle(t *testing.T) {
	const most = 12
	for name, test := range map[string]struct {
		request func(testing.TB, *fixture) *http.Request
		quota   plans.Quota
	}{
		"over the limit":     {list, one},
		"over the key's own": {listOverKeyLimit, noLimit},
		"banned":             {listBanned, noLimit},
		"a wrong checksum":   {badKey, noLimit},
	} {
		n := testing.AllocsPerRun(200, measured(t, test.request, test.quota))
		t.Logf("%s: %g allocations", name, n)
		if n > most {
			t.Errorf("%s: %g allocations, want at most %d", name, n, most)
		}
	}
}

// BenchmarkList is GET /v1/pets?limit=20 through all of the API, over fakes.
func BenchmarkList(b *testing.B) { benchmark(b, list, noLimit) }

// BenchmarkRefused is a request over the limit.
func BenchmarkRefused(b *testing.B) { benchmark(b, list, one) }

// BenchmarkRefusedByKey is a request over the key's own limit.
func BenchmarkRefusedByKey(b *testing.B) { benchmark(b, listOverKeyLimit, noLimit) }

// BenchmarkBanned is a request of a banned key.
func BenchmarkBanned(b *testing.B) { benchmark(b, listBanned, noLimit) }

// BenchmarkBadKey is a request with a key whose checksum is wrong.
func BenchmarkBadKey(b *testing.B) { benchmark(b, badKey, noLimit) }

// BenchmarkUsage is GET /v1/usage, whose month is in memory.
func BenchmarkUsage(b *testing.B) { benchmark(b, askUsage, noLimit) }
