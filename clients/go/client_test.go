package client_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"petstore.example/client"
)

// TestOptions: what they refuse. ../testdata/clients.json has the URLs and keys.
func TestOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option client.Option
		want   string
	}{
		"no HTTP client":     {client.WithHTTPClient(nil), "must not be nil"},
		"an empty agent":     {client.WithUserAgent(""), "user agent"},
		"an agent's break":   {client.WithUserAgent("a\r\nX-Evil: 1"), "user agent"},
		"negative retries":   {client.WithMaxRetries(-1), "retries"},
		"no wait":            {client.WithMaxWait(0), "wait"},
		"a wait in the past": {client.WithMaxWait(-1), "wait"},
		"no timeout":         {client.WithTimeout(0), "timeout"},
		"no warnings":        {client.WithWarnings(nil), "warnings"},
	} {
		c, err := client.New("https://h/v1", key, test.option)
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, error %v", name, c, err)
		}
	}
}

// TestFromEnv is not parallel: it sets variables.
func TestFromEnv(t *testing.T) {
	t.Setenv("PETSTORE_URL", "https://api.example.com/v1")
	t.Setenv("PETSTORE_API_KEY", key)
	if c, err := client.FromEnv(); err != nil || c.String() != "petstore client of https://api.example.com/v1" {
		t.Errorf("%v, error %v", c, err)
	}
	t.Setenv("PETSTORE_API_KEY", "")
	if _, err := client.FromEnv(); err == nil {
		t.Error("a client without a key")
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	service := newService(t, answer(201, rexJSON))
	store := service.store(t)
	for _, bad := range []string{"", " ", "a b", "a\n", "é", `"quoted"`, `a\b`, "\x7f", strings.Repeat("a", 256)} {
		if _, err := store.CreatePet(t.Context(), client.NewPet{Name: "Rex"}, client.IdempotencyKey(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if n := len(service.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	good := strings.Repeat("~", 255)
	if _, err := store.CreatePet(t.Context(), client.NewPet{Name: "Rex"}, client.IdempotencyKey(good)); err != nil {
		t.Fatal(err)
	}
	if got := service.requests()[0].header.Get("Idempotency-Key"); got != good {
		t.Errorf("sent %q", got)
	}
}

// TestBasePath: a prefix before /v1, escaped or not, stays as it is.
func TestBasePath(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://h/v1":          "/v1/store/orders",
		"https://h/v1/":         "/v1/store/orders",
		"https://h/shop/v1":     "/shop/v1/store/orders",
		"https://h/a%2Fb/v1///": "/a%2Fb/v1/store/orders",
	} {
		var asked string
		c, err := client.New(
			given,
			key,
			client.WithHTTPClient(&http.Client{Transport: inside(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.EscapedPath()
				return response(200, "[]"), nil
			})}),
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ListOrders(t.Context(), client.ListOrdersParams{}); err != nil || asked != want {
			t.Errorf("%s: asked for %s, error %v", given, asked, err)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answers []http.HandlerFunc
		for range 200 {
			answers = append(
				answers,
				failure(429, client.CodeRateLimitExceeded, "Retry-After", "1"),
				answer(200, "null"),
			)
		}
		service := newService(t, answers...)
		store := service.store(t, client.WithMaxRetries(400))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 5 {
					if err := list(t.Context(), store); err != nil {
						t.Error(err)
					}
					if err := add(t.Context(), store); err != nil {
						t.Error(err)
					}
					_ = store.String()
				}
			})
		}
		wg.Wait()
	})
}
