package api

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// discard is a response that nobody reads. Its header map is used again, as that of the fast path
// is.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// measured is an API over fakes, nothing of which is counted, and a request of a tenant with that
// quota.
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
		c.Instant = func(time.Time) time.Time { return at }
		c.Addresses = limits.NewAddresses(math.MaxInt64)
		c.Strikes = &noStrikes{}
		c.FailedRequests = usage.NewFailedRequests(nil, usage.Options{})
	})...)
	w.setPlan(tb, plans.Enterprise, q)
	for range 20 {
		w.addPet(tb, catalog.Available)
	}
	req := r(tb, w)
	req = req.WithContext(ConnContext(req.Context(), nil))
	out := &discard{h: http.Header{}}
	return func() {
		clear(out.h)
		w.ServeHTTP(out, req)
	}, req
}

// The requests that are measured, and quotas that have room for all and for one.
var (
	noLimit = plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64}
	one     = plans.Quota{PerMinute: 1, PerDay: 1}
	// The same with a month. In the second, all requests but the first are overage.
	noLimitInMonth = plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64,
		Month: plans.Month{Kind: plans.SomeMonth, Included: 1 << 39}}
	overage = plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64,
		Month: plans.Month{Kind: plans.SomeMonth, Included: 1,
			Overage: plans.Overage{Kind: plans.OverageNumber, Value: 1 << 39}}}
	oneInMonth = plans.Quota{PerMinute: math.MaxInt64, PerDay: math.MaxInt64,
		Month: plans.Month{Kind: plans.SomeMonth, Included: 1}}
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
type noStrikes struct{ fakeStrikes }

func (*noStrikes) Refused(context.Context, *keys.Caller, int64, time.Time) {}

// TestRefusalsAllocateLittle: a flood of refused requests is cheap. It does not run in parallel,
// because other tests' allocations would count.
func TestRefusalsAllocateLittle(t *testing.T) {
	const most = 14 // 12 without the race detector, which makes pools lose some of what they hold.
	for name, test := range map[string]struct {
		request func(testing.TB, *fixture) *http.Request
		quota   plans.Quota
	}{
		"over the limit":     {list, one},
		"over the month":     {list, oneInMonth},
		"over the key's own": {listOverKeyLimit, noLimit},
		"banned":             {listBanned, noLimit},
		"a wrong checksum":   {badKey, noLimit},
	} {
		// The least of some runs: those of the garbage collector, and what pools lose, differ from
		// run to run.
		n := math.Inf(1)
		for range 5 {
			n = min(n, testing.AllocsPerRun(200, measured(t, test.request, test.quota)))
		}
		t.Logf("%s: %g allocations", name, n)
		assert.True(t, n <= most, name, n, "allocations, want at most", most)
	}
}

// BenchmarkRequest is a request through all of the API, over fakes. A hot one has the page cache,
// the log and the connection of a server.
func BenchmarkRequest(b *testing.B) {
	for name, ask := range map[string]func() func(){
		"list":             func() func() { return measured(b, list, noLimit) },
		"refused":          func() func() { return measured(b, list, one) },
		"refused by key":   func() func() { return measured(b, listOverKeyLimit, noLimit) },
		"banned":           func() func() { return measured(b, listBanned, noLimit) },
		"bad key":          func() func() { return measured(b, badKey, noLimit) },
		"usage":            func() func() { return measured(b, askUsage, noLimit) },
		"hot list":         func() func() { return hot(b, list, noLimit) },
		"hot list gzip":    func() func() { return hot(b, list, noLimit, "Accept-Encoding", "gzip") },
		"hot not modified": func() func() { return hot(b, list, noLimit, "If-None-Match", "*") },
		"hot refused":      func() func() { return hot(b, list, one) },
		"hot bad key":      func() func() { return hot(b, badKey, noLimit) },
	} {
		b.Run(name, func(b *testing.B) {
			ask := ask()
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
}

// stampedMemory returns a limiter in memory whose decisions carry stamps.
func stampedMemory() (*limits.Memory, *freshness.Memory) {
	stamps := freshness.NewMemory(func() (int64, time.Time, bool) { return 1, time.Time{}, true })
	return limits.NewMemory(limits.WithStamps(stamps)), stamps
}

// hot is a request over a page cache, over a connection that takes a head: all but net/http, the
// directory and the meter is as in a server.
func hot(tb testing.TB, of func(testing.TB, *fixture) *http.Request, q plans.Quota, headers ...string) (ask func()) {
	limiter, stamps := stampedMemory()
	ask, r := measuredRequest(tb, of, q, func(c *Config) {
		c.Limiter, c.Invalidator, c.ListCacheBytes = limiter, stamps, 1<<20
		c.Log = zerolog.New(devNull{}).With().Timestamp().Logger()
	})
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return ask
}

type devNull struct{}

func (devNull) Write(p []byte) (int, error) { return len(p), nil }

// TestListsAllocateLittle does not run beside others, whose allocations would count.
func TestListsAllocateLittle(t *testing.T) {
	for name, test := range map[string]struct {
		ask         func()
		most, bytes float64
	}{
		"from memory":  {hot(t, list, noLimit), 8, 1000},
		"of a month":   {hot(t, list, noLimitInMonth), 8, 1100}, // its headers are longer
		"of overage":   {hot(t, list, overage), 8, 1100},
		"compressed":   {hot(t, list, noLimit, "Accept-Encoding", "gzip"), 8, 1000},
		"not modified": {hot(t, list, noLimit, "If-None-Match", "*"), 8, 1000},
		// With the race detector it is some more, and twice the bytes: then pools drop a part of
		// what they are given.
		"from rows": {measured(t, list, noLimit), 28, 10000},
	} {
		n, bytes := testing.AllocsPerRun(200, test.ask), math.Inf(1)
		// What a collection takes out of the pools is allocated once more: the least of a few rounds
		// has it not.
		for range 5 {
			bytes = min(bytes, bytesPerRun(200, test.ask))
		}
		t.Logf("%s: %g allocations, %g bytes", name, n, bytes)
		assert.True(
			t,
			n <= test.most && bytes <= test.bytes,
			name,
			n,
			"allocations, want at most",
			test.most,
			bytes,
			"bytes, want at most",
			test.bytes,
		)
	}
}

// bytesPerRun is like testing.AllocsPerRun, in bytes.
func bytesPerRun(runs int, f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(runs)
}
