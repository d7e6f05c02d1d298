package limitstest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

var seedFlag = flag.Uint64(
	"seed",
	0,
	"the seed of the generated tests in this package; 0 for the one of make test, or in make soak a new one",
)

// Seeded returns the seed of a generated test, and logs it. Without -seed, make test always has the
// same seed, so that only the code decides the result; make soak has a new one each time.
func Seeded(t testing.TB) uint64 {
	t.Helper()
	seed := cmp.Or(*seedFlag, 1)
	if *seedFlag == 0 && os.Getenv("PETSTORE_SOAK") != "" {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed
}

// someClaim returns a claim of one of a few tenants and keys. Their limits are small, so that
// requests often reach one.
func someClaim(random *rand.Rand) limits.Claim {
	c := limits.Claim{
		TenantID: 1 + random.Int64N(3),
		KeyID:    fmt.Sprint("key_", random.IntN(3)),
		Quota:    plans.Quota{PerMinute: 1 + random.Int64N(6), PerDay: 1 + random.Int64N(25)},
	}
	if random.IntN(2) == 0 {
		c.KeyPerMinute = 1 + random.Int64N(4)
	}
	return c
}

// wander brings a limiter into some state by requests, refunds, changes of plans and steps of the
// clock, and returns the instant of the last step.
func wander(t *testing.T, l limits.Limiter, random *rand.Rand, now time.Time) time.Time {
	type taken struct {
		claim    limits.Claim
		decision limits.Decision
	}
	var given []taken
	for range random.IntN(20) {
		c := someClaim(random)
		if d := l.Take(t.Context(), c, now); d.Admitted {
			given = append(given, taken{c, d})
		}
		switch random.IntN(8) {
		case 0:
			now = now.Add(time.Duration(random.Int64N(int64(40 * time.Second))))
		case 1:
			now = now.Add(time.Duration(random.Int64N(int64(time.Second))))
		case 2:
			if n := len(given); n > 0 {
				l.Refund(t.Context(), given[n-1].claim, given[n-1].decision)
				given = given[:n-1]
			}
		}
	}
	if random.IntN(20) == 0 {
		now = now.Add(time.Duration(random.Int64N(int64(20 * time.Hour))))
	}
	return now
}

// retryAfterIsTheFirstInstantThatPasses: from any state, a refused request is refused one tick
// before the end of its wait (a nanosecond or a second), and admitted at its end. Peek says the
// same.
func retryAfterIsTheFirstInstantThatPasses(t *testing.T, l limits.Limiter) {
	seed := Seeded(t)
	random := rand.New(rand.NewPCG(seed, 1))
	states := 1000
	if _, isMemory := l.(*limits.Memory); isMemory {
		states = 20_000
	}
	now, refusals := Noon, map[limits.WindowName]int{}
	for state := range states {
		now = wander(t, l, random, now)
		c := someClaim(random)
		d := l.Take(t.Context(), c, now)
		for d.Admitted && random.IntN(6) > 0 {
			d = l.Take(t.Context(), c, now)
		}
		if d.Admitted {
			continue
		}
		refusals[d.Binding().Name]++
		if now = waits(t, l, c, d, now); t.Failed() {
			t.Fatalf("in state %d, %+v refused by %+v", state, c, d)
		}
	}
	t.Logf("%d states, refusals by window: %v", states, refusals)
	for _, name := range []limits.WindowName{limits.Minute, limits.Day, limits.Key} {
		if refusals[name] < states/100 {
			t.Errorf("%d refusals by %s: too few to have shown anything", refusals[name], name)
		}
	}
}

// waits tries the wait of a refused request, and returns the instant of its end.
func waits(t *testing.T, l limits.Limiter, c limits.Claim, refused limits.Decision, now time.Time) time.Time {
	t.Helper()
	reset := refused.Binding().Reset
	end := time.Unix(reset, 0)
	for _, tick := range []time.Duration{time.Second, 1} {
		before := end.Add(-tick)
		if before.Before(now) {
			continue
		}
		if d := l.Peek(t.Context(), c, before); d.Admitted {
			t.Errorf("refused at %v until %v, and Peek passes %v before: %+v", now, end, tick, d)
		}
		if d := l.Take(t.Context(), c, before); d.Admitted || d.Binding().Reset != reset {
			t.Errorf("refused at %v until %v, and %v before: %+v", now, end, tick, d)
		}
	}
	whole := time.Duration(limits.RetryAfter(reset, now)) * time.Second
	if returned := now.Add(whole); returned.Before(end) ||
		whole > time.Second && !returned.Add(-time.Second).Before(end) {
		t.Errorf("at %v, Retry-After %v is not the first whole second from %v on", now, whole, end)
	}
	if d := l.Peek(t.Context(), c, end); !d.Admitted {
		t.Errorf("refused at %v until %v, and Peek is refused then: %+v", now, end, d)
	}
	if d := l.Take(t.Context(), c, end); !d.Admitted {
		t.Errorf("refused at %v until %v, and refused then: %+v", now, end, d)
	}
	return end
}
