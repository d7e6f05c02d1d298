package client_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"petstore.example/client"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for _, baseURL := range []string{
		"https://api.example.com/v1", "https://api.example.com/v1/", "http://127.0.0.1:8080/v1", "http://[::1]:80/v1",
		"HTTPS://h/a%2Fb/v1",
	} {
		if c, err := client.New(baseURL, key); err != nil || c == nil {
			t.Errorf("%s: %v", baseURL, err)
		}
	}
	for name, test := range map[string]struct {
		baseURL, key string
		option       client.Option
		want         string
	}{
		"no base URL":        {baseURL: "", want: "must be absolute"},
		"a relative one":     {baseURL: "/v1", want: "must be absolute"},
		"another scheme":     {baseURL: "ftp://h/v1", want: "must be absolute"},
		"no host":            {baseURL: "https:///v1", want: "must be absolute"},
		"only a port":        {baseURL: "https://:443/v1", want: "must be absolute"},
		"rubbish":            {baseURL: "https://h/%zz" + key, want: "must be absolute"},
		"swapped":            {baseURL: key, key: "https://api.example.com/v1", want: "must be absolute"},
		"a user":             {baseURL: "https://" + key + "@h/v1", want: "no user"},
		"a query":            {baseURL: "https://h/v1?key=" + key, want: "no user, query"},
		"a fragment":         {baseURL: "https://h/v1#" + key, want: "no user, query or fragment"},
		"no version":         {baseURL: "https://h", want: "end in /v1"},
		"another version":    {baseURL: "https://h/v2", want: "end in /v1"},
		"a path too long":    {baseURL: "https://h/v1/pets", want: "end in /v1"},
		"no key":             {key: "-", want: "API key"},
		"a line break":       {key: key + "\n", want: "is there a space or a line break"},
		"a space":            {key: "Bearer " + key, want: "is there a space"},
		"letters of others":  {key: key + "é", want: "visible ASCII"},
		"no HTTP client":     {option: client.WithHTTPClient(nil), want: "must not be nil"},
		"an empty agent":     {option: client.WithUserAgent(""), want: "user agent"},
		"an agent's break":   {option: client.WithUserAgent("a\r\nX-Evil: 1"), want: "user agent"},
		"negative retries":   {option: client.WithMaxRetries(-1), want: "retries"},
		"no wait":            {option: client.WithMaxWait(0), want: "wait"},
		"a wait in the past": {option: client.WithMaxWait(-1), want: "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch test.key {
			case "":
				test.key = key
			case "-":
				test.key = ""
			}
			if test.baseURL == "" && name != "no base URL" {
				test.baseURL = "https://h/v1"
			}
			var opts []client.Option
			if test.option != nil {
				opts = append(opts, test.option)
			}
			c, err := client.New(test.baseURL, test.key, opts...)
			if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, error %v", c, err)
			}
			refuseKey(t, "the error", err.Error())
		})
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
