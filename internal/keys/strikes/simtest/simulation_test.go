package simtest

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// worker sends one request after the other. next returns how long it waits after a response, which
// is a 429 with retryAfter unless that is 0.
type worker struct {
	at   time.Time
	next func(retryAfter time.Duration) time.Duration
}

// schedule is a heap of workers, the next one first.
type schedule []*worker

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }
func (s schedule) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)        { *s = append(*s, x.(*worker)) }
func (s *schedule) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// bans says whether one was placed.
type bans bool

func (b *bans) PlaceAutomaticBan(context.Context, int64, string) (keys.Ban, error) {
	*b = true
	return keys.Ban{}, nil
}

func (*bans) NextBan(context.Context, string, time.Time) (time.Duration, error) { return 0, nil }

// simulate lets workers share a key on one server, from the beginning of a minute window on. It
// returns when the key was banned, and how many of its requests were refused in the worst window.
// The day has no limit, so that the minute's binds for as long as it lasts.
func simulate(perMinute int64, workers []*worker, lasts time.Duration) (banned time.Duration, worst int) {
	var placed bans
	counter := strikes.New(strikes.Options{Bans: &placed})
	defer counter.Close()
	limiter, key := limits.NewMemory(), &keys.Caller{
		KeyID:  "key_a",
		Tenant: &plans.Tenant{ID: 7, Quota: plans.Quota{PerMinute: perMinute, PerDay: 1 << 40}},
	}
	begin := time.Unix(limits.MinuteReset(7, limits.MinuteAt(7, time.Unix(1_800_000_000, 0))), 0)
	refused, order := map[int64]int{}, schedule(workers)
	for _, w := range workers {
		w.at = begin.Add(w.next(0))
	}
	heap.Init(&order)
	for w := order[0]; w.at.Sub(begin) < lasts; w = order[0] {
		d := limiter.Take(
			context.Background(),
			limits.Claim{TenantID: 7, KeyID: key.KeyID, Quota: key.Tenant.Quota},
			w.at,
		)
		retryAfter := time.Duration(0)
		if !d.Admitted {
			counter.Refused(context.Background(), key, d.Minute.Number, w.at)
			retryAfter = time.Duration(limits.RetryAfter(d.Binding().Reset, w.at)) * time.Second
			refused[d.Minute.Number]++
			worst = max(worst, refused[d.Minute.Number])
		}
		if placed {
			return w.at.Sub(begin), worst
		}
		w.at = w.at.Add(w.next(retryAfter))
		heap.Fix(&order, 0)
	}
	return 0, worst
}

// manners are how workers wait besides Retry-After, which is wait. refusals is how many 429s they
// had in a row.
var manners = map[string]func(wait time.Duration, refusals int, random float64) time.Duration{
	"exactly": func(time.Duration, int, float64) time.Duration { return 0 },
	"a tenth": func(wait time.Duration, _ int, random float64) time.Duration {
		return time.Duration(random * float64(wait) / 10)
	},
	"doubled": func(wait time.Duration, refusals int, random float64) time.Duration {
		return time.Duration(random*float64(wait)/10) << min(refusals-1, 10)
	},
	"backoff": func(_ time.Duration, refusals int,
		_ float64) time.Duration {
		return time.Second << min(refusals-1, 6)
	},
}

// TestWorkersThatWaitAreNeverBanned for an hour, whatever they wait besides Retry-After.
func TestWorkersThatWaitAreNeverBanned(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, perMinute := range map[string]int64{"Free": 60, "Business": 1000, "one a minute": 1} {
		for manner, extra := range manners {
			for _, n := range []int{16, 128, 1000} {
				var workers []*worker
				for range n {
					refusals := 0
					workers = append(workers, &worker{next: func(retryAfter time.Duration) time.Duration {
						took := time.Duration(random.Int64N(int64(200 * time.Millisecond)))
						if refusals++; retryAfter == 0 {
							refusals = 0
							return took
						}
						return retryAfter + extra(retryAfter, refusals, random.Float64()) + took
					}})
				}
				if banned, worst := simulate(perMinute, workers, time.Hour); banned > 0 {
					t.Errorf(
						"%s, %d workers, %s: banned after %v, with %d refusals in a window",
						name,
						n,
						manner,
						banned,
						worst,
					)
				} else if n == 1000 {
					t.Logf("%s, %d workers, %s: at most %d refusals in a window", name, n, manner, worst)
				}
			}
		}
	}
}

// TestLoopsAreBanned: programs that ignore 429 are banned as fast as the documents say.
func TestLoopsAreBanned(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../../../docs/rate-limiting.md")
	assert.NoError(t, err)
	for _, loop := range []struct {
		programs int
		every    time.Duration
	}{{1, 5}, {1, 10}, {1, 50}, {1, 100}, {16, 5}, {16, 50}, {16, 500}} {
		row := fmt.Sprintf("| %d | %d ms |", loop.programs, loop.every)
		for _, perMinute := range []int64{60, 300, 1000} {
			var workers []*worker
			for range loop.programs {
				workers = append(
					workers,
					&worker{next: func(time.Duration) time.Duration { return loop.every * time.Millisecond }},
				)
			}
			if banned, _ := simulate(perMinute, workers, time.Hour); banned == 0 {
				row += " never |"
			} else {
				row += " " + strconv.FormatFloat(banned.Seconds(), 'f', 1, 64) + " s |"
			}
		}
		t.Log(row)
		if !strings.Contains(string(document), "\n"+row+"\n") {
			t.Errorf("docs/rate-limiting.md has not: %s", row)
		}
	}
}
