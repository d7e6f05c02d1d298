package client

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
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

// TestLateRefusalDrawsNothing: a 429 of the window in which a response said that 0 remain was on its
// way. It names the code of the wait, and draws no other.
func TestLateRefusalDrawsNothing(t *testing.T) {
	t.Parallel()
	drawn := 0
	q := &queue{maxWait: time.Hour, random: func() float64 { drawn++; return 1 / float64(drawn) }}
	q.observe(&rawResponse{status: http.StatusOK, header: http.Header{
		"X-Ratelimit-Limit": {"60"}, "X-Ratelimit-Remaining": {"0"},
		"X-Ratelimit-Reset": {strconv.FormatInt(time.Now().Unix()+30, 10)},
	}}, nil, false)
	until := q.window.until
	refused := &Error{Status: http.StatusTooManyRequests, Code: "banned", RetryAfter: 30 * time.Second}
	for range 2 {
		q.observe(&rawResponse{status: http.StatusTooManyRequests}, refused, false)
	}
	if drawn != 1 || !q.window.until.Equal(until) {
		t.Errorf("%d draws, and the wait ends %v later", drawn, q.window.until.Sub(until))
	}
	if q.window.refusal == nil || q.window.refusal.Code != "banned" {
		t.Errorf("the refusal is %v", q.window.refusal)
	}
}
