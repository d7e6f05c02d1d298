package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

func limited30() *http.Response {
	return response(429, `{"code":"rate_limit_exceeded","message":"Wait.","status":429}`, "Retry-After", "30")
}

func newInside(t *testing.T, timeout time.Duration, f inside) *client.Client {
	t.Helper()
	c, err := client.New("https://api.example.com/v1", key, client.WithHTTPClient(&http.Client{Transport: f, Timeout: timeout}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// window refuses until its end, then admits all.
type window struct {
	mu       sync.Mutex
	end      time.Time
	admitted int
	refused  int
}

func (w *window) answer(*http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.end) {
		w.refused++
		return limited30(), nil
	}
	w.admitted++
	return response(200, "[]"), nil
}

// TestAClientWaitsAsOne: after one 429 the other calls of the client don't ask, but wait, and then succeed.
func TestAClientWaitsAsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{end: time.Now().Add(30 * time.Second)}
		store := newInside(t, 0, w.answer)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := list(t.Context(), store); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if w.admitted != 50 || w.refused != 1 {
			t.Errorf("%d requests admitted, %d refused", w.admitted, w.refused)
		}
		if took := time.Since(began); took < 30*time.Second || took > 33*time.Second+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestAHeldCall: a call that waits beside another's 429 is told what the service would tell it, and when it can't wait so
// long, at once.
func TestAHeldCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{end: time.Now().Add(30 * time.Second)}
		store := newInside(t, 0, w.answer)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := list(t.Context(), store); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), 19*time.Second)
		defer cancel()
		began := time.Now()
		err := change(ctx, store)
		var e *client.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v", err)
		}
		want := &client.Error{
			Method: "PATCH", Path: "/v1/pets/7", Status: 429, Code: client.CodeRateLimitExceeded, Message: "Wait.",
			RetryAfter: 20 * time.Second,
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		wg.Wait()
		if w.refused != 1 {
			t.Errorf("%d refused", w.refused)
		}
	})
}

// TestNothingIsHeldBack where nothing may wait: each call hears the service's own answer.
func TestNothingIsHeldBack(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]client.Option{
		"no retries":          client.WithMaxRetries(0),
		"a wait too long":     client.WithMaxWait(29 * time.Second),
		"a wait hardly short": client.WithMaxWait(30*time.Second - 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, failure(429, client.CodeRateLimitExceeded, "Retry-After", "30"), answer(200, "[]"))
			store, clk := service.store(t, option)
			if err := list(t.Context(), store); !errors.Is(err, client.CodeRateLimitExceeded) {
				t.Errorf("error %v", err)
			}
			if err := list(t.Context(), store); err != nil {
				t.Error(err)
			}
			if len(clk.slept) != 0 {
				t.Errorf("waited %v", clk.slept)
			}
		})
	}
}

func TestTheContextEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{end: time.Now().Add(30 * time.Second)}
		store := newInside(t, 0, w.answer)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(7*time.Second, cancel)
		began := time.Now()
		err := list(ctx, store)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, client.CodeRateLimitExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v", took)
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

// TestUsageDoesNotWait: it is free, so it is asked also while the key's limit is known to be used up.
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
