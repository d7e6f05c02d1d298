package api

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// stampedMemory returns a limiter in memory whose decisions carry stamps.
func stampedMemory() (*limits.Memory, *freshness.Memory) {
	stamps := freshness.NewMemory(func() (int64, bool) { return 1, true })
	return limits.NewMemory(limits.WithStamps(stamps)), stamps
}

// hot is a request over a page cache, over a connection that takes a head: all but net/http, the directory and the
// meter is as in a server.
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
		ask  func()
		most float64
	}{
		"from memory":  {hot(t, list, noLimit), 8},
		"compressed":   {hot(t, list, noLimit, "Accept-Encoding", "gzip"), 8},
		"not modified": {hot(t, list, noLimit, "If-None-Match", "*"), 8},
		// With the race detector it is some more: then pools drop a part of what they are given.
		"from rows": {measured(t, list, noLimit), 28},
	} {
		n := testing.AllocsPerRun(200, test.ask)
		t.Logf("%s: %g allocations", name, n)
		assert.True(t, n <= test.most, name, n, "allocations, want at most", test.most)
	}
}
