package client_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/client"
)

// The ways to call that differ in whether they may be repeated.
var (
	list = func(ctx context.Context, c *client.Client) error {
		_, err := c.ListPets(ctx, client.ListPetsParams{})
		return err
	}
	twice = func(ctx context.Context, c *client.Client) error { return errors.Join(list(ctx, c), list(ctx, c)) }
	add   = func(ctx context.Context, c *client.Client) error {
		_, err := c.CreatePet(ctx, client.NewPet{Name: "Rex"})
		return err
	}
	change = func(ctx context.Context, c *client.Client) error {
		_, err := c.UpdatePet(ctx, 7, client.PetPatch{})
		return err
	}
)

func seconds(all ...float64) (waits []time.Duration) {
	for _, s := range all {
		waits = append(waits, time.Duration(s*float64(time.Second)))
	}
	return waits
}

func TestRetries(t *testing.T) {
	t.Parallel()
	limited := failure(429, client.CodeRateLimitExceeded, "Retry-After", "30")
	unavailable, unknown := failure(
		503,
		client.CodeUnavailable,
		"Retry-After",
		"1",
		"X-Request-Id",
		"r1",
	), failure(
		503,
		client.CodeOutcomeUnknown,
		"Retry-After",
		"1",
		"X-Request-Id",
		"r1",
	)
	proxys := failure(503, client.CodeUnavailable, "Retry-After", "1")
	inProgress := failure(409, client.CodeIdempotencyInProgress, "Retry-After", "1")
	pets, pet := answer(200, "[]"), answer(201, rexJSON)

	for name, test := range map[string]struct {
		call    func(context.Context, *client.Client) error
		options []client.Option
		answers []http.HandlerFunc
		waits   []time.Duration // with the largest chance, which is almost 1
		want    client.Code     // empty for success
		lost    bool            // no answer at last
	}{
		"429": {call: list, answers: []http.HandlerFunc{limited, pets}, waits: seconds(33)},
		"429, and later again": {call: twice, answers: []http.HandlerFunc{limited, pets, limited, pets},
			waits: seconds(33, 0, 33)},
		"429 to POST":  {call: add, answers: []http.HandlerFunc{limited, pet}, waits: seconds(33)},
		"429 to PATCH": {call: change, answers: []http.HandlerFunc{limited, pet}, waits: seconds(33)},
		"503": {call: list, answers: []http.HandlerFunc{unavailable, unavailable, pets},
			waits: seconds(1.1, 1.1)},
		"503 to PATCH":    {call: change, answers: []http.HandlerFunc{unavailable, pet}, waits: seconds(1.1)},
		"unknown outcome": {call: add, answers: []http.HandlerFunc{unknown, pet}, waits: seconds(1.1)},
		"503 of a proxy to PATCH": {call: change, answers: []http.HandlerFunc{proxys, pet},
			want: client.CodeUnavailable},
		"503 of a proxy to POST": {call: add, answers: []http.HandlerFunc{proxys, pet}, waits: seconds(1.1)},
		"unknown outcome of PATCH": {call: change, answers: []http.HandlerFunc{unknown, pet},
			want: client.CodeOutcomeUnknown},
		"an earlier one runs": {call: add, answers: []http.HandlerFunc{inProgress, inProgress, pet},
			waits: seconds(1.1, 1.1)},
		"four tries, no more": {call: list, answers: []http.HandlerFunc{limited, limited, limited, limited, pets},
			waits: seconds(33, 36, 42), want: client.CodeRateLimitExceeded},
		"no try more": {call: list, options: []client.Option{client.WithMaxRetries(0)},
			answers: []http.HandlerFunc{limited, pets}, want: client.CodeRateLimitExceeded},
		"one try more": {call: list, options: []client.Option{client.WithMaxRetries(1)},
			answers: []http.HandlerFunc{limited, limited, pets}, waits: seconds(33),
			want: client.CodeRateLimitExceeded},
		"no Retry-After": {call: list,
			answers: []http.HandlerFunc{answer(503, ""), answer(429, ""), answer(503, ""), pets},
			waits:   seconds(1, 2, 4)},
		"a ban's end is far": {call: list,
			answers: []http.HandlerFunc{failure(429, client.CodeKeyBanned, "Retry-After", "900")},
			want:    client.CodeKeyBanned},
		"a ban's end is near": {call: list,
			answers: []http.HandlerFunc{failure(429, client.CodeKeyBanned, "Retry-After", "90"), pets},
			waits:   seconds(99)},
		"the day's end is far": {call: list,
			answers: []http.HandlerFunc{failure(429, client.CodeDailyQuotaExceeded, "Retry-After", "91")},
			want:    client.CodeDailyQuotaExceeded},
		"more patience": {call: list, options: []client.Option{client.WithMaxWait(time.Hour)},
			answers: []http.HandlerFunc{failure(429, client.CodeKeyBanned, "Retry-After", "900"), pets},
			waits:   seconds(990)},
		"endless": {call: list, options: []client.Option{client.WithMaxWait(math.MaxInt64)},
			answers: []http.HandlerFunc{failure(429, client.CodeKeyBanned, "Retry-After", "99999999999999"), pets},
			waits:   []time.Duration{math.MaxInt64/2 + math.MaxInt64/20}},
		"no answer": {call: list, answers: []http.HandlerFunc{cut, pets}, waits: seconds(1)},
		"half an answer": {call: list, answers: []http.HandlerFunc{cutShort, cutShort, pets},
			waits: seconds(1, 2)},
		"no answer to POST":  {call: add, answers: []http.HandlerFunc{cut, pet}, waits: seconds(1)},
		"no answer to PATCH": {call: change, answers: []http.HandlerFunc{cutShort, pet}, lost: true},
		"no answer at all": {call: list,
			answers: []http.HandlerFunc{cutShort, cutShort, cutShort, cutShort, pets}, waits: seconds(1, 2, 4),
			lost: true},
		"a gateway's 502 and 504": {call: add, answers: []http.HandlerFunc{answer(502, ""), answer(504, ""), pet},
			waits: seconds(1, 2)},
		"a gateway's to PATCH": {call: change, answers: []http.HandlerFunc{failure(502, "bad_gateway"), pet},
			want: "bad_gateway"},
		"the service's own fault": {call: list,
			answers: []http.HandlerFunc{failure(500, client.CodeInternalError), pets}, want: client.CodeInternalError},
		"another conflict": {call: add,
			answers: []http.HandlerFunc{failure(409, client.CodePetNotAvailable, "Retry-After", "1"), pet},
			want:    client.CodePetNotAvailable},
		"the caller's fault": {call: add, answers: []http.HandlerFunc{failure(400, client.CodeValidationFailed), pet},
			want: client.CodeValidationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := newService(t, test.answers...)
				store := service.store(
					t,
					append(test.options, client.WithRandom(func() float64 { return math.Nextafter(1, 0) }))...)
				err := test.call(t.Context(), store)

				var e *client.Error
				switch {
				case test.lost:
					if err == nil || errors.As(err, &e) {
						t.Errorf("error %v", err)
					}
				case test.want != "":
					if !errors.Is(err, test.want) {
						t.Errorf("error %v", err)
					}
				case err != nil:
					t.Error(err)
				}
				nearly := cmp.Comparer(
					func(a, b time.Duration) bool { return (a - b).Abs() < max(time.Microsecond, a/1e12) },
				)
				if diff := cmp.Diff(test.waits, service.waits(), nearly); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
				if n := len(service.requests()); n != len(test.waits)+1 {
					t.Errorf("%d requests, not %d", n, len(test.waits)+1)
				}
			})
		})
	}
}

// TestTriesAreTheSame: each try of a call sends all of the body and the same key; the next call has
// another key.
func TestTriesAreTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := newService(
			t,
			cut,
			failure(503, client.CodeUnavailable),
			failure(429, client.CodeRateLimitExceeded, "Retry-After", "1"),
			answer(201, rexJSON),
			answer(201, orderJSON),
		)
		store := service.store(t)
		if err := add(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if _, err := store.PlaceOrder(t.Context(), client.NewOrder{PetID: 1}); err != nil {
			t.Fatal(err)
		}
		requests := service.requests()
		if len(requests) != 5 {
			t.Fatalf("%d requests", len(requests))
		}
		first := requests[0].header.Get("Idempotency-Key")
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(first) {
			t.Errorf("key %q", first)
		}
		for _, r := range requests[1:4] {
			if diff := cmp.Diff(requests[0], r, cmp.AllowUnexported(received{})); diff != "" {
				t.Errorf("(-first +later):\n%s", diff)
			}
		}
		if requests[4].header.Get("Idempotency-Key") == first {
			t.Error("two calls have the same key")
		}
	})
}
