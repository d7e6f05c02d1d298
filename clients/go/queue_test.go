package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

// inside answers without a network, so that synctest's time passes.
type inside func(*http.Request) (*http.Response, error)

func (f inside) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, body string, headers ...string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(headers); i += 2 {
		res.Header.Set(headers[i], headers[i+1])
	}
	return res
}

const limitedJSON = `{"code":"rate_limit_exceeded","message":"Wait.","status":429}`

func limited30() *http.Response { return response(429, limitedJSON, "Retry-After", "30") }

func newInside(t *testing.T, timeout time.Duration, f inside, opts ...client.Option) *client.Client {
	t.Helper()
	opts = append(opts, client.WithHTTPClient(&http.Client{Transport: f, Timeout: timeout}))
	c, err := client.New("https://api.example.com/v1", key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fixedWindow admits limit requests a minute, as the API does. Each takes 5 ms, and every response
// says how many remain.
type fixedWindow struct {
	limit int64
	// ahead is by how much its clock is ahead of the client's.
	ahead time.Duration

	mu    sync.Mutex
	reset time.Time
	used  int64
	// admitted are the names of the animals in the order of their requests, and refused counts the
	// 429s by reset.
	admitted []string
	refused  map[time.Time]int
}

func newFixedWindow(limit, used int64) *fixedWindow {
	return &fixedWindow{
		limit:   limit,
		used:    used,
		reset:   time.Now().Truncate(time.Minute).Add(time.Minute),
		refused: map[time.Time]int{},
	}
}

func (w *fixedWindow) answer(r *http.Request) (*http.Response, error) {
	time.Sleep(5 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !now.Before(w.reset) {
		w.reset, w.used = now.Truncate(time.Minute).Add(time.Minute), 0
	}
	status, body, remaining := 201, rexJSON, w.limit-w.used-1
	var further []string
	if remaining < 0 {
		w.refused[w.reset]++
		wait := (w.reset.Sub(now) + time.Second - 1) / time.Second
		status, body, remaining, further = 429, limitedJSON, 0, []string{"Retry-After", strconv.Itoa(int(wait))}
	} else {
		w.used++
		var pet client.Pet
		_ = json.NewDecoder(r.Body).Decode(&pet)
		w.admitted = append(w.admitted, pet.Name)
	}
	return response(status, body, append(further, "Date", now.Add(w.ahead).UTC().Format(http.TimeFormat),
		"X-RateLimit-Limit", strconv.FormatInt(w.limit, 10), "X-RateLimit-Remaining", strconv.FormatInt(remaining, 10),
		"X-RateLimit-Reset", strconv.FormatInt(w.reset.Add(w.ahead).Unix(), 10))...), nil
}

// most returns the most 429s of a window.
func (w *fixedWindow) most() (most int) {
	for _, n := range w.refused {
		most = max(most, n)
	}
	return most
}

// TestManyCallers: goroutines that share a client wait for their turn, in order, and nobody is
// refused. Programs that share a key learn of each other by few 429s.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		clients, callers int
		limit, used      int64
		ahead            time.Duration
		most             int // 429s in a window
	}{
		"on Free":                 {clients: 1, callers: 300, limit: 60},
		"on Business":             {clients: 1, callers: 3000, limit: 1000},
		"one a minute":            {clients: 1, callers: 5, limit: 1},
		"its clock is behind":     {clients: 1, callers: 150, limit: 60, ahead: time.Hour},
		"its clock is ahead":      {clients: 1, callers: 150, limit: 60, ahead: -time.Hour},
		"another used the minute": {clients: 1, callers: 150, limit: 60, used: 60, most: 1},
		"ten programs":            {clients: 10, callers: 300, limit: 60, most: 100},
		"ten programs, Business":  {clients: 10, callers: 300, limit: 1000, most: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixedWindow(test.limit, test.used)
				w.ahead = test.ahead
				var calls sync.WaitGroup
				var want []string
				for range test.clients {
					store := newInside(t, 0, w.answer, client.WithTimeout(24*time.Hour))
					for i := range test.callers {
						name := fmt.Sprint(i)
						want = append(want, name)
						calls.Go(func() {
							if _, err := store.CreatePet(t.Context(), client.NewPet{Name: name}); err != nil {
								t.Error(err)
							}
						})
						synctest.Wait() // They come one after the other.
					}
				}
				began := time.Now()
				calls.Wait()
				t.Logf(
					"%d created in %v; 429s: %v",
					len(w.admitted),
					time.Since(began),
					slices.Collect(maps.Values(w.refused)),
				)
				if w.most() > test.most || len(w.admitted) != len(want) {
					t.Errorf("%d created, %d × 429 in a window; want %d, and at most %d",
						len(w.admitted), w.most(), len(want), test.most)
				}
				if test.clients == 1 {
					n := int(test.limit) // Those of a window go together.
					if diff := diff(
						slices.Collect(sortedChunks(want, n)),
						slices.Collect(sortedChunks(w.admitted, n)),
					); diff != "" {
						t.Errorf("by window (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func sortedChunks(all []string, n int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for chunk := range slices.Chunk(all, n) {
			if !yield(slices.Sorted(slices.Values(chunk))) {
				return
			}
		}
	}
}

// TestNoCallWaitsTooLong: a call that could not wait for the reset fails at once, without a
// request, and its error has the time. Once a minute a call asks again.
func TestNoCallWaitsTooLong(t *testing.T) {
	t.Parallel()
	rate := func(remaining string, reset time.Duration) []string {
		return []string{
			"X-RateLimit-Limit",
			"60",
			"X-RateLimit-Remaining",
			remaining,
			"X-RateLimit-Reset",
			strconv.FormatInt(time.Now().Add(reset).Unix(), 10),
		}
	}
	for name, test := range map[string]struct {
		response func() *http.Response // to the first call
		maxWait  time.Duration
		context  time.Duration // of the second call, ten seconds later
		want     client.Error
		text     string
	}{
		"a 429, and the context": {
			response: limited30, maxWait: time.Minute, context: 19 * time.Second,
			want: client.Error{Code: client.CodeRateLimitExceeded, RetryAfter: 20 * time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 rate_limit_exceeded: Not sent: its time ends before " +
				"the limit resets.; try again in 20 s",
		},
		"a 429, and the longest wait": {
			response: limited30, maxWait: 15 * time.Second, context: time.Hour,
			want: client.Error{Code: client.CodeRateLimitExceeded, RetryAfter: 20 * time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 rate_limit_exceeded: Not sent: the longest wait is " +
				"15s.; try again in 20 s",
		},
		"a ban": {
			response: func() *http.Response {
				return response(429, `{"code":"key_banned","message":"Banned.","status":429}`, "Retry-After", "900")
			},
			maxWait: 90 * time.Second, context: time.Hour,
			want: client.Error{Code: client.CodeKeyBanned, RetryAfter: 890 * time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 key_banned: Not sent: the longest wait is 1m30s.; " +
				"try again in 890 s",
		},
		"no request remains in the minute": {
			response: func() *http.Response { return response(200, "[]", rate("0", 40*time.Second)...) },
			maxWait:  90 * time.Second, context: 29 * time.Second,
			want: client.Error{Code: client.CodeRateLimitExceeded, RetryAfter: 30 * time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 rate_limit_exceeded: Not sent: its time ends before " +
				"the limit resets.; try again in 30 s",
		},
		"no request remains in the day": {
			response: func() *http.Response { return response(200, "[]", rate("0", 5*time.Hour)...) },
			maxWait:  90 * time.Second, context: time.Hour,
			want: client.Error{Code: client.CodeDailyQuotaExceeded, RetryAfter: 5*time.Hour - 10*time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 daily_quota_exceeded: Not sent: the longest wait is " +
				"1m30s.; try again in 17990 s",
		},
		"no request remains in the month, on its last day": {
			response: func() *http.Response {
				return response(200, "[]", append(rate("0", 5*time.Hour),
					"RateLimit", `"minute";r=59;t=9, "day";r=12;t=18000, "month";r=0;t=18000`)...)
			},
			maxWait: 90 * time.Second, context: time.Hour,
			want: client.Error{Code: client.CodeMonthlyQuotaExceeded, RetryAfter: 5*time.Hour - 10*time.Second},
			text: "petstore: PATCH /v1/pets/7: 429 monthly_quota_exceeded: Not sent: the longest wait is " +
				"1m30s.; try again in 17990 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				store := newInside(t, 0, func(*http.Request) (*http.Response, error) {
					if requests++; requests == 1 {
						return test.response(), nil
					}
					return response(200, "{}"), nil
				}, client.WithMaxWait(test.maxWait))
				early, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_ = list(early, store)
				time.Sleep(10 * time.Second)

				ctx, cancel := context.WithTimeout(t.Context(), test.context)
				defer cancel()
				began := time.Now()
				err := change(ctx, store)
				var e *client.Error
				if !errors.As(err, &e) || requests != 1 || time.Since(began) > 0 {
					t.Fatalf("error %v after %v, %d requests", err, time.Since(began), requests)
				}
				test.want.Method, test.want.Path, test.want.Status = "PATCH", "/v1/pets/7", 429
				test.want.Message, test.want.Rate = e.Message, e.Rate
				if diff := diff(test.want, *e); diff != "" || e.Error() != test.text {
					t.Errorf("says %q, not %q; (-want +got):\n%s", e, test.text, diff)
				}
				time.Sleep(time.Minute)
				if err := change(t.Context(), store); err != nil || requests != 2 {
					t.Errorf("a minute later: %v, %d requests", err, requests)
				}
			})
		})
	}
}

// TestWithoutRetriesNoCallWaits: each hears the service's own answer.
func TestWithoutRetriesNoCallWaits(t *testing.T) {
	t.Parallel()
	service := newService(t, failure(429, client.CodeRateLimitExceeded, "Retry-After", "30"), answer(200, "[]"))
	store := service.store(t, client.WithMaxRetries(0))
	if err := list(t.Context(), store); !errors.Is(err, client.CodeRateLimitExceeded) {
		t.Errorf("error %v", err)
	}
	if err := list(t.Context(), store); err != nil {
		t.Error(err)
	}
}

// TestNoCallWaitsForAnother where nothing limits them: neither for a response without the headers
// of a limit, nor, after some seconds, for a request that gets none.
func TestNoCallWaitsForAnother(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stuck int
		most  time.Duration
	}{"no headers": {0, 50 * time.Millisecond}, "two are stuck": {2, 3050 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int64
				store := newInside(t, 0, func(r *http.Request) (*http.Response, error) {
					time.Sleep(5 * time.Millisecond)
					if requests.Add(1) <= int64(test.stuck) {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return response(200, "[]"), nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var calls sync.WaitGroup
				var good atomic.Int64
				began := time.Now()
				for range 300 {
					calls.Go(func() {
						if list(ctx, store) == nil && good.Add(1) == int64(300-test.stuck) &&
							time.Since(began) > test.most {
							t.Errorf("took %v", time.Since(began))
						}
					})
				}
				calls.Wait()
				if n := good.Load(); n != int64(300-test.stuck) {
					t.Errorf("%d calls succeeded", n)
				}
			})
		})
	}
}

// TestACallLeavesTheQueue when its context ends, and those behind it go.
func TestACallLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixedWindow(60, 60)
		store := newInside(t, 0, w.answer)
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%2 == 0 {
					time.AfterFunc(7*time.Second, cancel)
				}
				if err := add(
					ctx,
					store,
				); (i%2 == 0) != (errors.Is(err, context.Canceled) && errors.Is(err, client.CodeRateLimitExceeded)) {
					t.Errorf("call %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		if len(w.admitted) != 50 || w.most() != 1 {
			t.Errorf("%d created, %d × 429", len(w.admitted), w.most())
		}
	})
}

// TestTheContextEndsARequest: then there is no other try.
func TestTheContextEndsARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		store := newInside(t, 0, func(r *http.Request) (*http.Response, error) {
			requests++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := list(ctx, store); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if requests != 1 {
			t.Errorf("%d requests", requests)
		}
	})
}

// TestATryTimesOut: the HTTP client's own timeout ends a try, not the call.
func TestATryTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		store := newInside(t, 3*time.Second, func(r *http.Request) (*http.Response, error) {
			if requests++; requests == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return response(201, rexJSON), nil
		})
		if err := add(t.Context(), store); err != nil {
			t.Error(err)
		}
		if requests != 2 {
			t.Errorf("%d requests", requests)
		}
	})
}

// TestUsageDoesNotWait: it is free, so it is asked also while the key's limit is known to be used
// up.
func TestUsageDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newInside(t, 0, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/usage" {
				return limited30(), nil
			}
			asked++
			return response(200, `{"plan":"free"}`), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.GetPet(ctx, 1); !errors.Is(err, client.CodeRateLimitExceeded) {
			t.Errorf("error %v", err)
		}
		began := time.Now()
		u, err := c.GetUsage(t.Context())
		if err != nil || u.Plan != "free" || asked != 1 || time.Since(began) > 0 {
			t.Errorf("%+v, %v, asked %d times, after %v", u, err, asked, time.Since(began))
		}
	})
}

// TestTooManyChangesOfKeys: the limit of changes of keys holds up nothing else.
func TestTooManyChangesOfKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newInside(t, 0, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/keys" {
				return limited30(), nil
			}
			return response(200, `{"id":1}`), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.CreateKey(ctx, client.NewKey{Name: "ci"}); !errors.Is(err, client.CodeRateLimitExceeded) {
			t.Errorf("error %v", err)
		}
		began := time.Now()
		if _, err := c.GetPet(t.Context(), 1); err != nil || time.Since(began) > 0 {
			t.Errorf("%v, after %v", err, time.Since(began))
		}
	})
}
