package api

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// stateOf reads RateLimit: of each window by name what remains, and when it ends.
func stateOf(t *testing.T, rec *httptest.ResponseRecorder, now time.Time) map[string][2]int64 {
	t.Helper()
	state := map[string][2]int64{}
	for _, item := range strings.Split(header(rec, "RateLimit"), ", ") {
		name, numbers, _ := strings.Cut(item, ";")
		var remaining, seconds int64
		if _, err := fmt.Sscanf(numbers, "r=%d;t=%d", &remaining, &seconds); err != nil {
			t.Fatalf("%q: %v", item, err)
		}
		state[strings.Trim(name, `"`)] = [2]int64{remaining, now.Unix() + seconds}
	}
	return state
}

// onLimiters runs a test over two servers, which count together, by every limiter and with the fast path on and off.
func onLimiters(t *testing.T, test func(t *testing.T, servers [2]*fixture)) {
	for name, limiters := range map[string]func(*testing.T) [2]limits.Limiter{
		"memory": func(*testing.T) [2]limits.Limiter { m := limits.NewMemory(); return [2]limits.Limiter{m, m} },
		"redis":  overRedis,
	} {
		for mode := range contract.Modes {
			t.Run(name+", fast path "+mode, func(t *testing.T) {
				t.Parallel()
				shared := limiters(t)
				var servers [2]*fixture
				servers[0] = newFixture(t, func(c *Config) { c.Limiter = shared[0] })
				servers[1] = newFixture(t, func(c *Config) {
					c.Limiter, c.Instant, c.Directory, c.Pets = shared[1], servers[0].instant, servers[0].directory, servers[0].pets
				})
				for i, w := range servers {
					w.limiter = shared[i]
					w.Handler = contract.Remote(t, server(w.Handler), mode, strings.Split(exposedHeaders[0], ", ")...)
				}
				test(t, servers)
			})
		}
	}
}

// overRedis returns the limiters of two servers that count in one Redis.
func overRedis(t *testing.T) (limiters [2]limits.Limiter) {
	t.Helper()
	url := redistest.Shared(t)
	counters := &limitstest.CounterStore{Term: limitstest.RedisTerm}
	for i := range limiters {
		client, err := redisbackend.NewClient(url, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		limiter := distributed.New(redisbackend.New(client), distributed.Options{
			Cluster: &limitstest.RedisMember{}, Counters: counters, Log: zerolog.Nop(), Timeout: time.Second, Wait: 10 * time.Second,
		})
		limiter.Start()
		t.Cleanup(limiter.Close)
		limiters[i] = limiter
	}
	return limiters
}

// story is a run of one tenant's requests to two servers, and what their answers have said so far.
type story struct {
	t       *testing.T
	random  *rand.Rand
	servers [2]*fixture
	now     time.Time
	// quotas by name of the window, the key's 0 for none.
	quotas map[string]int64
	// used is what was admitted and not given back in each window, by its name and end.
	used map[string]map[int64]int64
	// said is what the last answer of each window said to remain, under that limit.
	said map[string]map[int64][2]int64
	// outcomes count what became of the requests.
	outcomes map[int]int
}

// TestTruthfulHeaders: over two servers, with plans and keys that change, requests that fail and windows that pass, every answer
// says exactly what remains; so it never rises within a window but after a refund or when the limit has grown. All
// windows end at the same instant wherever that is asked.
func TestTruthfulHeaders(t *testing.T) {
	t.Parallel()
	onLimiters(t, func(t *testing.T, servers [2]*fixture) {
		s := &story{
			t: t, random: rand.New(rand.NewPCG(4, 5)), servers: servers, now: at,
			used: map[string]map[int64]int64{}, said: map[string]map[int64][2]int64{}, outcomes: map[int]int{},
		}
		for _, name := range []string{"minute", "day", "key"} {
			s.used[name], s.said[name] = map[int64]int64{}, map[int64][2]int64{}
		}
		s.change()
		for range 3000 {
			s.step()
		}
		t.Logf("answers by status: %v", s.outcomes)
		for _, status := range []int{200, 429, 503} {
			if s.outcomes[status] < 100 {
				t.Errorf("only %d answers of status %d: the test shows little", s.outcomes[status], status)
			}
		}
	})
}

func (s *story) step() {
	switch n := s.random.IntN(100); {
	case n < 3:
		s.change()
	case n < 15:
		s.now = s.now.Add(time.Duration(s.random.Int64N(int64(20 * time.Second))))
	case n < 16:
		s.now = s.now.Add(time.Duration(s.random.Int64N(int64(6 * time.Hour))))
	}
	s.servers[0].setClock(s.now)
	fails := s.random.IntN(5) == 0
	s.servers[0].pets.err = nil
	if fails {
		s.servers[0].pets.err = catalog.ErrUnavailable
	}
	w, target := s.servers[s.random.IntN(2)], "/v1/pets"
	if s.random.IntN(6) == 0 {
		target = "/v1/usage"
	}
	rec := w.do(s.servers[0].request("GET", target, ""))
	s.outcomes[rec.Code]++
	s.check(rec, target == "/v1/usage")
	if rec.Code == 503 {
		s.settle()
	}
}

// settle waits until both servers know of a refund: the other one may remember for a moment that a window was full.
func (s *story) settle() {
	c := s.servers[0].acme(s.t, func(*keys.Caller) {})
	for _, w := range s.servers {
		room := w.limiter.Peek(s.t.Context(), c, s.now).Admitted
		var d limits.Decision
		wait.Until(s.t, "the refund", func() bool {
			d = w.limiter.Take(s.t.Context(), c, s.now)
			w.limiter.Refund(s.t.Context(), c, d)
			return d.Admitted == room
		}, &d)
	}
}

// change gives the tenant another plan and the key another limit, or none.
func (s *story) change() {
	s.quotas = map[string]int64{"minute": 5 + s.random.Int64N(20), "day": 40 + s.random.Int64N(400), "key": max(0, s.random.Int64N(16)-5)}
	s.servers[0].directory.change(s.t, s.servers[0].key, func(c *keys.Caller) {
		c.Tenant = &plans.Tenant{ID: 1, Name: "acme", Plan: plans.Enterprise, Quota: plans.Quota{PerMinute: s.quotas["minute"], PerDay: s.quotas["day"]}}
		c.PerMinute = s.quotas["key"]
	})
}

// check compares an answer with what it must say. A free one counted nowhere.
func (s *story) check(rec *httptest.ResponseRecorder, free bool) {
	s.t.Helper()
	state := stateOf(s.t, rec, s.now)
	least := int64(1 << 60)
	full := false
	for name, limit := range s.quotas {
		if limit == 0 {
			continue
		}
		remaining, end := state[name][0], state[name][1]
		full = full || s.used[name][end] >= limit
		if rec.Code == 200 && !free {
			s.used[name][end]++
		}
		if want := max(0, limit-s.used[name][end]); remaining != want {
			s.t.Fatalf("%d: %d remain of the %s, want %d of %d", rec.Code, remaining, name, want, limit)
		}
		said, known := s.said[name][end]
		if known && remaining > said[0] && limit <= said[1] && rec.Code != 503 {
			s.t.Fatalf("%d: %d remain of the %s, and before that %d did", rec.Code, remaining, name, said[0])
		}
		s.said[name][end] = [2]int64{remaining, limit}
		least = min(least, remaining)
	}
	if (rec.Code == 429) != (full && !free) {
		s.t.Fatalf("%d, although a window was full: %v", rec.Code, full)
	}
	if got := header(rec, "X-RateLimit-Remaining"); got != fmt.Sprint(least) {
		s.t.Fatalf("%s remain, want the fewest, %d", got, least)
	}
	shown := header(rec, "X-RateLimit-Reset")
	if !slices.ContainsFunc(slices.Collect(maps.Values(state)), func(w [2]int64) bool { return fmt.Sprint(w[1]) == shown }) {
		s.t.Fatalf("reset %s, windows %v", shown, state)
	}
}

// TestResetIsTheSameEverywhere: whichever server is asked, and when, a window ends at one instant.
func TestResetIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	onLimiters(t, func(t *testing.T, servers [2]*fixture) {
		ends := map[string]map[int64]bool{"minute": {}, "day": {}}
		const seconds = 150
		for i := range 2 * seconds {
			now := at.Add(time.Duration(i) * time.Second / 2)
			servers[0].setClock(now)
			for _, w := range servers {
				for name, window := range stateOf(t, w.do(servers[0].request("GET", "/v1/pets", "")), now) {
					ends[name][window[1]] = true
				}
			}
		}
		if len(ends["minute"]) != 3 || len(ends["day"]) != 1 {
			t.Errorf("in %d s minutes ended at %v and days at %v, want 3 and 1", seconds, ends["minute"], ends["day"])
		}
		for end := range ends["minute"] {
			if end%60 != 1795166557%60 {
				t.Errorf("a minute ends at %d", end)
			}
		}
	})
}
