package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

// start is when the services of the tests say something about time.
var start = time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC)

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   client.Error
		text   string
	}{
		"the API's own": {
			failure(429, client.CodeDailyQuotaExceeded, with("Retry-After", "52692", "X-Request-Id", "abc")...),
			client.Error{
				Status: 429, Code: client.CodeDailyQuotaExceeded, Message: "So it is.", RequestID: "abc",
				RetryAfter: 52692 * time.Second, Rate: rate,
			},
			"petstore: GET /v1/pets: 429 daily_quota_exceeded: So it is. (request abc); try again in 52692 s",
		},
		"a code that is new": {
			answer(418, `{"code":"short_and_stout","message":"I'm a teapot.","status":418,"more":1}`),
			client.Error{Status: 418, Code: "short_and_stout", Message: "I'm a teapot."},
			"petstore: GET /v1/pets: 418 short_and_stout: I'm a teapot.",
		},
		"a proxy's page": {
			answer(503, "<html>Come back later", "Retry-After", "Fri, 20 Nov 2026 09:31:48 GMT"),
			client.Error{Status: 503, Message: "<html>Come back later", RetryAfter: 10 * time.Minute},
			"petstore: GET /v1/pets: 503: <html>Come back later; try again in 600 s",
		},
		"JSON that is none of ours": {
			answer(403, `{"code":7}`),
			client.Error{Status: 403, Message: `{"code":7}`},
			"petstore: GET /v1/pets: 403: {\"code\":7}",
		},
		"nothing": {
			answer(500, ""),
			client.Error{Status: 500, Message: "Internal Server Error"},
			"petstore: GET /v1/pets: 500: Internal Server Error",
		},
		"not modified, which was not asked": {
			answer(304, ""),
			client.Error{Status: 304, Message: "redirect not followed; check the base URL"},
			"petstore: GET /v1/pets: 304: redirect not followed; check the base URL",
		},
		"numbers that are none": {
			answer(400, "", "Retry-After", "-1", "X-RateLimit-Limit", "many", "X-RateLimit-Remaining", "1.5",
				"X-RateLimit-Reset", "0"),
			client.Error{Status: 400, Message: "Bad Request"},
			"petstore: GET /v1/pets: 400: Bad Request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start))
				store := newService(t, test.answer).store(t, client.WithMaxRetries(0))
				_, err = store.ListPets(t.Context(), client.ListPetsParams{})
			})
			var got *client.Error
			if !errors.As(err, &got) {
				t.Fatalf("not an *Error: %v", err)
			}
			test.want.Method, test.want.Path = "GET", "/v1/pets"
			if diff := diff(&test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err.Error() != test.text {
				t.Errorf("says %q, not %q", err, test.text)
			}
		})
	}
}

func TestErrorIsItsCode(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("sync: %w", &client.Error{Status: 404, Code: client.CodePetNotFound})
	if !errors.Is(err, client.CodePetNotFound) {
		t.Error("is not its own code")
	}
	if errors.Is(err, client.CodeOrderNotFound) || errors.Is(err, errors.New("pet_not_found")) {
		t.Error("is something else too")
	}
	if client.CodePetNotFound.Error() != "pet_not_found" {
		t.Errorf("says %q", client.CodePetNotFound)
	}
}

// TestAnswersThatCantBeRead: no *Error, no second try, no silent half.
func TestAnswersThatCantBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":                   {answer(200, "<html>Welcome to the hotel"), "GET /v1/pets: decode the response"},
		"nothing":                  {answer(204, ""), "GET /v1/pets: decode the response"},
		"wrong type":               {answer(200, `{"pets":[]}`), "GET /v1/pets: decode the response"},
		"the longest that is read": {answer(200, strings.Repeat(" ", client.MaxResponse-2)+"[]"), ""},
		"too long": {answer(200, strings.Repeat(" ", client.MaxResponse+1)),
			"GET /v1/pets: the response is longer than 10485760 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, test.answer)
			store := service.store(t)
			_, err := store.ListPets(t.Context(), client.ListPetsParams{})
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			var e *client.Error
			if errors.As(err, &e) {
				t.Errorf("an *Error: %#v", e)
			}
			if n := len(service.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
