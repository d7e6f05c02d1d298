package api

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// stampedMemory returns a limiter in memory whose decisions carry stamps.
func stampedMemory() (*limits.Memory, *freshness.Memory) {
	stamps := freshness.NewMemory(func() (int64, bool) { return 1, true })
	return limits.NewMemory(limits.WithStamps(stamps)), stamps
}

// hot is a request for a page that is in memory, over a connection that takes a head: all but net/http, the directory and the
// meter is as in a server.
func hot(tb testing.TB, headers ...string) (ask func()) {
	return hotRequest(tb, list, noLimit, headers...)
}

func hotRequest(tb testing.TB, of func(testing.TB, *fixture) *http.Request, q plans.Quota, headers ...string) (ask func()) {
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
		ask  func()
		most float64
	}{
		"from memory":  {hot(t), 8},
		"not modified": {hot(t, "If-None-Match", "*"), 8},
		// With the race detector it is some more: then pools drop a part of what they are given.
		"from rows": {measured(t, list, noLimit), 28},
	} {
		n := testing.AllocsPerRun(200, test.ask)
		t.Logf("%s: %g allocations", name, n)
		if n > test.most {
			t.Errorf("%s: %g allocations, want at most %g", name, n, test.most)
		}
	}
}

func benchmarkHot(b *testing.B, headers ...string) { benchmarkHotRequest(b, hot(b, headers...)) }

func benchmarkHotRequest(b *testing.B, ask func()) {
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// BenchmarkHotList is GET /v1/pets?limit=20 from memory.
func BenchmarkHotList(b *testing.B) { benchmarkHot(b) }

// BenchmarkHotNotModified is the same with an ETag that is the page's.
func BenchmarkHotNotModified(b *testing.B) { benchmarkHot(b, "If-None-Match", "*") }

// BenchmarkHotRefused is a request over the limit.
func BenchmarkHotRefused(b *testing.B) { benchmarkHotRequest(b, hotRequest(b, list, one)) }

// BenchmarkHotBadKey is a request with a key whose checksum is wrong.
func BenchmarkHotBadKey(b *testing.B) { benchmarkHotRequest(b, hotRequest(b, badKey, noLimit)) }
