package load

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const payload = "[1,2,3]"

// brief are options for wrk's shortest run.
var brief = Options{Connections: 2, Threads: 1, Duration: time.Second}

func serve(t *testing.T, h http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	header := http.Header{"Authorization": {`Bearer "quoted\key"`}}
	return Target{URL: server.URL + "/v1/pets?limit=20", Header: header, Status: http.StatusOK, Body: []byte(payload)}
}

func TestRunMeasures(t *testing.T) {
	t.Parallel()
	var wrong atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != `Bearer "quoted\key"` || r.URL.String() != "/v1/pets?limit=20" {
			wrong.Add(1)
		}
		_, _ = io.WriteString(w, payload)
	})
	got, err := Run(t.Context(), target, brief)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests == 0 || got.Elapsed < 900*time.Millisecond || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("implausible result: %+v", got)
	}
	if wrong.Load() > 0 {
		t.Errorf("%d requests were not as asked for", wrong.Load())
	}
}

// The responses are right when they are checked before and after the run, and wrong in between.
func TestRunFailsOnWrongResponses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply func(http.ResponseWriter)
		want  string
	}{
		"refused": {
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
			"had a status of 400 or more",
		},
		"empty": {func(http.ResponseWriter) {}, "bytes on average"},
		"longer": {
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat(payload, 3)) },
			"bytes on average",
		},
		"no response": {func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				// The checks before and after a run send a user agent; wrk does not.
				if r.Header.Get("User-Agent") != "" {
					_, _ = io.WriteString(w, payload)
					return
				}
				test.reply(w)
			})
			_, err := Run(t.Context(), target, brief)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestRunFailsOnWrongFirstResponse(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[1,2,4]") })
	if _, err := Run(t.Context(), target, brief); err == nil || !strings.Contains(err.Error(), "body") {
		t.Errorf("error %v, want one about the body", err)
	}
}

func TestCheckAllowsUnfinishedResponses(t *testing.T) {
	t.Parallel()
	s := summary{Requests: 100, Bytes: 100*1500 + 64*1500}
	if err := s.check(Target{Status: http.StatusOK}, 1500, 1500, 64); err != nil {
		t.Error(err)
	}
}

// In a case of refusals all requests are refused, except those that a new minute admits.
func TestCheckWantsRefusals(t *testing.T) {
	t.Parallel()
	target := Target{Status: http.StatusTooManyRequests, MaxOther: 2}
	for status, right := range map[int64]bool{100: true, 98: true, 97: false, 0: false} {
		s := summary{Requests: 100, Bytes: 100 * 300, Status: status}
		if err := s.check(target, 300, 300, 1); (err == nil) != right {
			t.Errorf("%d refusals of 100: %v", status, err)
		}
	}
}

func TestKeysInTurn(t *testing.T) {
	t.Parallel()
	var seen [3]atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for i, want := range []string{"Bearer a", "Bearer b", `Bearer "quoted\key"`} {
			if r.Header.Get("Authorization") == want {
				seen[i].Add(1)
			}
		}
		_, _ = io.WriteString(w, payload)
	})
	target.Keys = []string{"a", "b"}
	if _, err := Run(t.Context(), target, brief); err != nil {
		t.Fatal(err)
	}
	a, b := seen[0].Load(), seen[1].Load()
	if a < 10 || b < 10 || a > b+10 || b > a+10 || seen[2].Load() > 0 {
		t.Errorf("%d and %d requests with the keys, %d with none of them", a, b, seen[2].Load())
	}
}

// Each request has the next ID, and another number: the run's, and those before and after it.
func TestIDsInTurn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, numbers := map[string]int{}, map[string]bool{}
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path]++
		numbers[string(body)] = true
		_, _ = io.WriteString(w, payload)
	})
	target.Method, target.URL, target.RequestBody = http.MethodPatch, strings.TrimSuffix(
		target.URL,
		"?limit=20",
	)+"/{id}", []byte(
		`{n}`,
	)
	target.IDs = &IDs{First: 100, Count: 50}
	got, err := Run(t.Context(), target, Options{Connections: 2, Threads: 2, Duration: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	// Two threads of the same speed have half of the IDs each.
	if len(seen) != 52 || seen["/v1/pets/150"] != 1 || seen["/v1/pets/151"] != 1 || seen["/v1/pets/100"] < 2 ||
		seen["/v1/pets/149"] < 2 {
		t.Errorf("the IDs were %v, want 100 to 149 over and over, and 150 and 151 once", seen)
	}
	if n := int64(len(numbers)); n < got.Requests/3 {
		t.Errorf("%d requests had %d numbers", got.Requests, n)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	keysOf := map[string]map[string]bool{} // by the client's address
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if keysOf[r.RemoteAddr] == nil {
			keysOf[r.RemoteAddr] = map[string]bool{}
		}
		keysOf[r.RemoteAddr][r.Header.Get("Authorization")] = true
		_, _ = io.WriteString(w, payload)
	})
	target.Clients, target.Keys = 3, []string{"a", "b", "c"}
	began := 0
	o := Options{Connections: 2, Duration: 100 * time.Millisecond, Begin: func() error {
		mu.Lock()
		defer mu.Unlock()
		began = len(keysOf)
		return nil
	}}
	got, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests < 10 || got.Elapsed < o.Duration || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("implausible result: %+v", got)
	}
	if began != 4 || len(keysOf) != 5 {
		t.Errorf(
			"there were %d connections before the run and %d after it, want one for the check and one for each "+
				"client, and one more check",
			began,
			len(keysOf),
		)
	}
	for _, keys := range keysOf {
		if len(keys) != 1 {
			t.Errorf("a connection had the keys %v", keys)
		}
	}
}

func TestClosedLoopFailsOnWrongResponses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 20 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, payload)
	})
	target.Clients, target.Keys = 2, []string{"a", "b"}
	_, err := Run(t.Context(), target, Options{Connections: 2, Duration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "want status 200") {
		t.Errorf("error %v, want one about the status", err)
	}
}

func TestRunSendsBodies(t *testing.T) {
	t.Parallel()
	const body = "{\"name\":\"Rex \\ \n\"}"
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != body || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, payload)
	})
	target.Method, target.RequestBody = http.MethodPost, []byte(body)
	if _, err := Run(t.Context(), target, brief); err != nil {
		t.Error(err)
	}
}

// The limiter must have counted every request; here it counts half of them.
func TestRunFailsOnWrongCounts(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", fmt.Sprintf(`"day";r=%d;t=60`, 1_000_000-requests.Add(1)/2))
		_, _ = io.WriteString(w, payload)
	})
	target.Counted = 1
	if _, err := Run(t.Context(), target, brief); err == nil || !strings.Contains(err.Error(), "were counted") {
		t.Errorf("error %v, want one about the count", err)
	}
}

// At a rate wrk sends as many requests as are due, also those that differ from each other.
func TestRunAtRate(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"a", "b"}} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, payload) })
		target.Keys = keys
		got, err := Run(t.Context(), target, Options{Connections: 4, Threads: 2, Duration: time.Second, Rate: 50})
		if err != nil {
			t.Fatal(err)
		}
		// On a busy machine wrk's threads begin long before it looks at its clock.
		if got.RPS() < 25 || got.RPS() > 250 || got.P50 <= 0 || got.P99 < got.P50 || got.P999 < got.P99 {
			t.Errorf("implausible result: %+v", got)
		}
	}
}

// When a server stalls for half a second, the requests that were due meanwhile are late too, and
// are sent after it.
func TestRunAtRateCountsWaiting(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 50 {
			time.Sleep(500 * time.Millisecond) // the handler takes that long
		}
		_, _ = io.WriteString(w, payload)
	})
	got, err := Run(t.Context(), target, Options{Connections: 1, Threads: 1, Duration: 2 * time.Second, Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	// Of 200 requests one waited for the response, and 49 others were due until then.
	if got.RPS() < 80 || got.P99 < 400*time.Millisecond || got.P50 > 100*time.Millisecond {
		t.Errorf("%+v: want the wait in the latencies", got)
	}
}
