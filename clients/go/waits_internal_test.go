package client

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestChance draws waits many times: they spread over their whole range and never leave it.
func TestChance(t *testing.T) {
	t.Parallel()
	c := &Client{random: rand.Float64, maxWait: time.Hour}
	impatient := &Client{random: rand.Float64, maxWait: 5 * time.Second}
	for name, test := range map[string]struct {
		draw      func() time.Duration
		low, high time.Duration
	}{
		"after Retry-After": {func() time.Duration { return jitter(15*time.Second, c.random()) }, 0,
			1500 * time.Millisecond},
		"after a long one":   {func() time.Duration { return jitter(40*time.Second, c.random()) }, 0, 2 * time.Second},
		"first backoff":      {func() time.Duration { return c.backoff(0) }, 0, time.Second},
		"third backoff":      {func() time.Duration { return c.backoff(2) }, 0, 4 * time.Second},
		"sixth backoff":      {func() time.Duration { return c.backoff(5) }, 0, 32 * time.Second},
		"seventh backoff":    {func() time.Duration { return c.backoff(6) }, 0, time.Minute},
		"hundredth backoff":  {func() time.Duration { return c.backoff(99) }, 0, time.Minute},
		"within the longest": {func() time.Duration { return impatient.backoff(99) }, 0, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shortest, longest := time.Duration(math.MaxInt64), time.Duration(0)
			for range 10_000 {
				wait := test.draw()
				shortest, longest = min(shortest, wait), max(longest, wait)
			}
			if shortest < test.low || longest > test.high {
				t.Errorf("from %v to %v, outside %v to %v", shortest, longest, test.low, test.high)
			}
			// That 10,000 draws all miss the first or the last tenth has a chance of one in 10^457.
			if spread := test.high - test.low; shortest > test.low+spread/10 || longest < test.high-spread/10 {
				t.Errorf("from %v to %v, which is not all of %v to %v", shortest, longest, test.low, test.high)
			}
		})
	}
}
