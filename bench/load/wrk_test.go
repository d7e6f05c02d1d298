package load

import (
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
	return Target{
		Method: http.MethodGet, URL: server.URL + "/v1/pets?limit=20", Header: header,
		Status: http.StatusOK, Body: []byte(payload),
	}
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
	if got.Requests == 0 || got.Micros < 900_000 || got.P50 <= 0 || got.P99 < got.P50 {
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
	s := Result{Requests: 100, Bytes: 100*1500 + 64*1500}
	if err := s.check(Target{Status: http.StatusOK}, 1500, 1500, 64); err != nil {
		t.Error(err)
	}
}

// In a case of refusals all requests are refused, except those that a new minute admits.
func TestCheckWantsRefusals(t *testing.T) {
	t.Parallel()
	target := Target{Status: http.StatusTooManyRequests, MaxOther: 2}
	for status, right := range map[int64]bool{100: true, 98: true, 97: false, 0: false} {
		s := Result{Requests: 100, Bytes: 100 * 300, Refused: status}
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

// Keys at random send lists, and some in a hundred POSTs.
func TestKeysAtRandom(t *testing.T) {
	t.Parallel()
	var lists, posts, strange atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch key := r.Header.Get("Authorization"); {
		case key != "Bearer a" && key != "Bearer b":
			strange.Add(1)
		case r.Method == http.MethodGet && r.URL.String() == "/v1/pets?limit=20":
			lists.Add(1)
		case r.Method == http.MethodPost && r.URL.String() == "/v1/pets" && string(body) == "{}":
			posts.Add(1)
		default:
			strange.Add(1)
		}
		_, _ = io.WriteString(w, payload)
	})
	target.Keys, target.Random, target.Writes, target.WriteBody = []string{"a", "b"}, true, 20, []byte("{}")
	got, err := Run(t.Context(), target, brief)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(posts.Load()) / float64(got.Requests); share < .1 || share > .3 || strange.Load() > 0 {
		t.Errorf(
			"%d lists, %d POSTs and %d others, want a fifth to be POSTs",
			lists.Load(),
			posts.Load(),
			strange.Load(),
		)
	}
}

// filledIn counts what requests have in common: their paths with their key, and the number in their
// body with their Idempotency-Key.
func filledIn(t *testing.T, target func(*Target), o Options) (paths, others map[string]int, requests int) {
	t.Helper()
	var mu sync.Mutex
	paths, others = map[string]int{}, map[string]int{}
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		paths[r.URL.Path+" "+r.Header.Get("Authorization")]++
		others[string(body)+" "+r.Header.Get("Idempotency-Key")]++
		_, _ = io.WriteString(w, payload)
	})
	to.Method, to.URL, to.RequestBody = http.MethodPatch, strings.TrimSuffix(to.URL, "?limit=20")+"/{id}", []byte(`{n}`)
	to.Keys = []string{"a", "b"}
	target(&to)
	got, err := Run(t.Context(), to, o)
	if err != nil {
		t.Fatal(err)
	}
	return paths, others, int(got.Requests)
}

// Each request has the next ID with its owner's key, and another number and Idempotency-Key: the
// run's, and those before and after it.
func TestIDsInTurn(t *testing.T) {
	t.Parallel()
	seen, others, requests := filledIn(t, func(target *Target) {
		target.IDs, target.CustomerKeys = &IDs{First: 100, Count: 50, Owners: make([]int, 50)}, true
		for i := range target.IDs.Owners {
			target.IDs.Owners[i] = i % 2
		}
	}, Options{Connections: 2, Threads: 2, Duration: time.Second})
	// Two threads of the same speed have half of the IDs each.
	if len(seen) != 52 || seen["/v1/pets/150 Bearer a"] != 1 || seen["/v1/pets/151 Bearer a"] != 1 ||
		seen["/v1/pets/100 Bearer a"] < 2 || seen["/v1/pets/149 Bearer b"] < 2 {
		t.Errorf("the IDs were %v, want 100 to 149 over and over, and 150 and 151 once", seen)
	}
	if len(others) < requests {
		t.Errorf("%d requests had %d numbers and keys", requests, len(others))
	}
}

// IDs without owners are used at random, with any key.
func TestIDsAtRandom(t *testing.T) {
	t.Parallel()
	seen, others, requests := filledIn(t, func(target *Target) { target.IDs = &IDs{First: 100, Count: 3} }, brief)
	if len(seen) != 6 || seen["/v1/pets/102 Bearer b"] == 0 || len(others) < requests/3 {
		t.Errorf(
			"the IDs were %v, want 100 to 102 with each key; %d requests had %d numbers",
			seen,
			requests,
			len(others),
		)
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
		if got.RPS() < 25 || got.RPS() > 250 || got.P50 <= 0 || got.P99 < got.P50 {
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
	if got.RPS() < 80 || got.P99 < 400_000 || got.P50 > 100_000 {
		t.Errorf("%+v: want the wait in the latencies", got)
	}
}
