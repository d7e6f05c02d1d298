package client_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

var (
	rateHeaders = []string{
		"X-RateLimit-Limit",
		"300",
		"X-RateLimit-Remaining",
		"299",
		"X-RateLimit-Reset",
		"1795166568",
	}
	rate = client.Rate{Limit: 300, Remaining: 299, Reset: time.Unix(1795166568, 0)}
)

func with(headers ...string) []string { return append(headers, rateHeaders...) }

const (
	rexJSON   = `{"id":7,"name":"Rex","categoryId":-9223372036854775808,"status":"pending"}`
	orderJSON = `{"id":3,"petId":7,"quantity":2,"status":"placed","createdAt":"2026-11-20T09:21:48.5Z",` +
		`"note":"unknown"}`
	keyJSON = `{"id":"key_1","name":"ci","environment":"live","last4":"9fQ2","scope":"read",
		"allowedAddresses":["::1"],"perMinute":5,
		"status":"active","createdAt":"2026-11-20T09:21:48.5Z","expiresAt":"2026-11-20T09:21:48.5Z","lastUsedAt":null,
		"replaces":null,"issuedBy":"support"}`
	usageJSON = `{"tenant":"acme","plan":"pro","quota":{"perMinute":300,"perDay":10000},"windows":{
		"minute":{"limit":300,"used":51,"remaining":249,"reset":1793523637},
		"day":{"limit":10000,"used":51,"remaining":9949,"reset":1793577600},
		"key":{"limit":50,"used":50,"remaining":0,"reset":1793523637},"note":null},
		"month":{"admitted":51,"refused":4,"days":[{"date":"2026-11-01","admitted":51,"refused":4}]},
		"forecast":{"perHour":51,"dayRunsOutAt":"2026-11-01T18:00:00Z"},
		"nextChange":{"at":"2026-11-15T00:00:00Z","plan":"free","quota":{"perMinute":60,"perDay":1000}}}`
)

var (
	rex   = client.Pet{ID: 7, Name: "Rex", CategoryID: -1 << 63, Status: client.PetPending}
	order = client.Order{
		ID: 3, PetID: 7, Quantity: 2, Status: client.OrderPlaced,
		CreatedAt: time.Date(2026, time.November, 20, 9, 21, 48, 500e6, time.UTC),
	}
)

var ci = client.Key{
	ID:               "key_1",
	Name:             "ci",
	Environment:      "live",
	Last4:            "9fQ2",
	Scope:            client.ScopeRead,
	AllowedAddresses: []string{"::1"},
	PerMinute:        new(int64(5)),
	Status:           "active",
	CreatedAt:        order.CreatedAt,
	ExpiresAt:        &order.CreatedAt,
	IssuedBy:         new("support"),
}

// TestOperations compares what each operation sends, and what it makes of the answer.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call   func(context.Context, *client.Client) (any, error)
		answer http.HandlerFunc
		sent   received
		want   any
	}{
		"list": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListPets(ctx, client.ListPetsParams{})
			},
			answer(200, "["+rexJSON+"]", with("ETag", `"abc"`)...),
			received{method: "GET", path: "/v1/pets"},
			&client.PetPage{Pets: []client.Pet{rex}, ETag: `"abc"`, Rate: rate},
		},
		"list with everything": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListPets(ctx, client.ListPetsParams{Limit: 2, Status: client.PetSold,
					Cursor: "000000000000000a", IfNoneMatch: `"abc"`})
			},
			answer(200, "[]", with("ETag", `"def"`, "X-Next-Cursor", "000000000000000c")...),
			received{
				method: "GET", path: "/v1/pets", query: "cursor=000000000000000a&limit=2&status=sold",
				header: http.Header{"If-None-Match": {`"abc"`}},
			},
			&client.PetPage{Pets: []client.Pet{}, NextCursor: "000000000000000c", ETag: `"def"`, Rate: rate},
		},
		"list by filters": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListPets(ctx, client.ListPetsParams{IDs: []int64{7, -1}, CategoryID: new(int64(0)),
					Name: "Re & ü"})
			},
			answer(200, "["+rexJSON+"]", with("ETag", `W/"abc"`)...),
			received{method: "GET", path: "/v1/pets", query: "categoryId=0&ids=7%2C-1&name=Re+%26+%C3%BC"},
			&client.PetPage{Pets: []client.Pet{rex}, ETag: `W/"abc"`, Rate: rate},
		},
		"get an order": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetOrder(ctx, 3) },
			answer(200, orderJSON),
			received{method: "GET", path: "/v1/store/orders/3"},
			&order,
		},
		"list keys": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListKeys(ctx, client.ListKeysParams{Limit: 2, Status: "active", Cursor: "key_2"})
			},
			answer(200, "["+keyJSON+"]", with("X-Next-Cursor", "key_1")...),
			received{method: "GET", path: "/v1/keys", query: "cursor=key_2&limit=2&status=active"},
			&client.KeyPage{Keys: []client.Key{ci}, NextCursor: "key_1", Rate: rate},
		},
		"get the own key": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetKey(ctx, client.SelfKey) },
			answer(200, keyJSON), received{method: "GET", path: "/v1/keys/self"}, &ci,
		},
		"issue a key": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreateKey(ctx,
					client.NewKey{Name: "ci", Scope: client.ScopeRead, ExpiresAt: order.CreatedAt, PerMinute: 5,
						AllowedAddresses: []string{"::1"}, ConfirmLockout: true}, client.IdempotencyKey("k"))
			},
			answer(201, keyJSON),
			received{
				method: "POST", path: "/v1/keys", header: http.Header{"Idempotency-Key": {"k"}},
				body: `{"name":"ci","scope":"read","expiresAt":"2026-11-20T09:21:48.5Z","perMinute":5,` +
					`"allowedAddresses":["::1"],"confirmLockout":true}`,
			},
			&ci,
		},
		"change a key": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.UpdateKey(ctx, "key_1/..", client.KeyPatch{
					Name: new(""), Scope: new(client.ScopeWrite), ExpiresAt: &time.Time{}, PerMinute: new(int64(5)),
					AllowedAddresses: new([]string(nil)), ConfirmLockout: new(true),
				}, client.IfMatch(`"abc"`))
			},
			answer(200, keyJSON),
			received{
				method: "PATCH", path: "/v1/keys/key_1/..", header: http.Header{"If-Match": {`"abc"`}},
				body: `{"allowedAddresses":null,"confirmLockout":true,"expiresAt":null,"name":null,"perMinute":5,` +
					`"scope":"write"}`,
			},
			&ci,
		},
		"rotate a key": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.RotateKey(ctx, "key_1", client.KeyRotation{
					GracePeriod: new(time.Hour), ExpiresAt: new(time.Time)}, client.IdempotencyKey("k"))
			},
			answer(201, keyJSON),
			received{method: "POST", path: "/v1/keys/key_1/rotate", body: `{"expiresAt":null,"gracePeriod":3600}`,
				header: http.Header{"Idempotency-Key": {"k"}}},
			&ci,
		},
		"revoke the own key": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.RevokeKey(ctx, client.SelfKey, client.KeyRevocation{
					Reason: "it leaked", Replacements: true}, client.IdempotencyKey("k"))
			},
			answer(200, keyJSON),
			received{method: "POST", path: "/v1/keys/self/revoke", query: "replacements=true",
				body: `{"reason":"it leaked"}`, header: http.Header{"Idempotency-Key": {"k"}}},
			&ci,
		},
		"change what nobody else has changed": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.UpdatePet(ctx, 7, client.PetPatch{CategoryID: new(int64(0))}, client.IfMatch(`W/"abc"`))
			},
			answer(200, rexJSON),
			received{method: "PATCH", path: "/v1/pets/7", body: `{"categoryId":0}`,
				header: http.Header{"If-Match": {`"abc"`}}},
			&rex,
		},
		"list not modified": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListPets(ctx, client.ListPetsParams{IfNoneMatch: `"abc"`})
			},
			answer(304, "", with("ETag", `"abc"`)...),
			received{method: "GET", path: "/v1/pets", header: http.Header{"If-None-Match": {`"abc"`}}},
			&client.PetPage{ETag: `"abc"`, NotModified: true, Rate: rate},
		},
		"add": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: -1 << 63, Status: client.PetPending},
					client.IdempotencyKey("rex-1"))
			},
			answer(201, rexJSON),
			received{
				method: "POST", path: "/v1/pets",
				body:   `{"name":"Rex","categoryId":-9223372036854775808,"status":"pending"}`,
				header: http.Header{"Idempotency-Key": {"rex-1"}},
			},
			&rex,
		},
		"add without status": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreatePet(ctx, client.NewPet{Name: "Rex"}, client.IdempotencyKey("rex-2"))
			},
			answer(201, rexJSON),
			received{method: "POST", path: "/v1/pets", body: `{"name":"Rex","categoryId":0}`,
				header: http.Header{"Idempotency-Key": {"rex-2"}}},
			&rex,
		},
		"get": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetPet(ctx, -7) },
			answer(200, rexJSON),
			received{method: "GET", path: "/v1/pets/-7"},
			&rex,
		},
		"change an animal": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.UpdatePet(ctx, 7, client.PetPatch{CategoryID: new(int64(0)), Status: new(client.PetPending)})
			},
			answer(200, rexJSON),
			received{method: "PATCH", path: "/v1/pets/7", body: `{"categoryId":0,"status":"pending"}`},
			&rex,
		},
		"list orders": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListOrders(ctx, client.ListOrdersParams{Limit: 5, Status: client.OrderCancelled,
					Cursor: "0000000000000001"})
			},
			answer(200, "["+orderJSON+"]", with("X-Stability", "beta", "X-Next-Cursor", "0000000000000003")...),
			received{method: "GET", path: "/v1/store/orders",
				query: "cursor=0000000000000001&limit=5&status=cancelled"},
			&client.OrderPage{Orders: []client.Order{order}, NextCursor: "0000000000000003", Rate: rate},
		},
		"order": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.PlaceOrder(ctx, client.NewOrder{PetID: 7, Quantity: 2}, client.IdempotencyKey("o-1"))
			},
			answer(201, orderJSON),
			received{method: "POST", path: "/v1/store/orders", body: `{"petId":7,"quantity":2}`,
				header: http.Header{"Idempotency-Key": {"o-1"}}},
			&order,
		},
		"usage": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetUsage(ctx) },
			answer(200, usageJSON, with("X-Stability", "beta")...),
			received{method: "GET", path: "/v1/usage"},
			&client.Usage{
				Tenant: "acme", Plan: "pro", Quota: client.Quota{PerMinute: 300, PerDay: 10_000},
				Windows: client.UsageWindows{
					Minute: client.UsageWindow{Limit: 300, Used: 51, Remaining: 249, Reset: time.Unix(1793523637, 0)},
					Day: client.UsageWindow{Limit: 10_000, Used: 51, Remaining: 9949,
						Reset: time.Unix(1793577600, 0)},
					Key: &client.UsageWindow{Limit: 50, Used: 50, Remaining: 0, Reset: time.Unix(1793523637, 0)},
				},
				Month: client.UsageMonth{Admitted: 51, Refused: 4,
					Days: []client.UsageDay{{Date: "2026-11-01", Admitted: 51, Refused: 4}}},
				Forecast: client.UsageForecast{PerHour: 51,
					DayRunsOutAt: new(time.Date(2026, time.November, 1, 18, 0, 0, 0, time.UTC))},
				NextChange: &client.PlanChange{
					At: time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC), Plan: "free",
					Quota: client.Quota{PerMinute: 60, PerDay: 1000},
				},
			},
		},
		"report of usage": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.GetUsageReport(ctx, time.Date(2026, time.October, 31, 23, 0, 0, 0, time.UTC))
			},
			answer(200, `{"month":{"admitted":7,"refused":1,"days":[],"month":"2026-10",
				"corrections":[{"month":"2026-09","admitted":2,"refused":0}],
				"keys":[{"id":"key_x","name":"ci","admitted":7,"refused":1,"days":[]}]}}`),
			received{method: "GET", path: "/v1/usage", query: "by=key&month=2026-10"},
			&client.UsageMonth{
				Admitted: 7, Refused: 1, Days: []client.UsageDay{}, Month: "2026-10",
				Corrections: []client.UsageCorrection{{Month: "2026-09", Admitted: 2}},
				Keys: []client.KeyUsage{{ID: "key_x", Name: "ci", Admitted: 7, Refused: 1,
					Days: []client.UsageDay{}}},
			},
		},
		"usage of a key without a limit": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetUsage(ctx) },
			answer(200, `{"windows":{"key":null},"forecast":{"perHour":0,"dayRunsOutAt":null}}`),
			received{method: "GET", path: "/v1/usage"},
			&client.Usage{},
		},
		"list failed requests": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListRequests(ctx, client.ListRequestsParams{
					Limit: 5, Since: time.Unix(1795166568, 5e8), Until: time.Unix(1795166569, 0), KeyID: "key_x",
					Status: 429,
					Code:   client.CodeRateLimitExceeded, Cursor: "0000000000000001",
				})
			},
			answer(200, `[{"id":"r1","time":"2026-11-20T09:21:48.5Z","method":"GET","route":null,"status":429,`+
				`"code":"rate_limit_exceeded","durationMs":0.5,"keyId":"key_x"}]`,
				with("X-Next-Cursor", "0000000000000003")...),
			received{
				method: "GET", path: "/v1/requests",
				query: "code=rate_limit_exceeded&cursor=0000000000000001&key=key_x&limit=5" +
					"&since=2026-11-20T09%3A22%3A48.5Z&status=429&until=2026-11-20T09%3A22%3A49Z",
			},
			&client.RequestPage{
				Requests: []client.FailedRequest{{
					ID: "r1", Time: order.CreatedAt, Method: "GET", Status: 429, Code: client.CodeRateLimitExceeded,
					DurationMs: 0.5, KeyID: "key_x",
				}},
				NextCursor: "0000000000000003", Rate: rate,
			},
		},
		"explain a failed request": {
			func(ctx context.Context, c *client.Client) (any, error) { return c.GetRequest(ctx, "a/b") },
			answer(200, `{"id":"a/b","explanation":"e","window":{"name":"day","limit":2,
				"used":[{"id":"key_x","name":"n","admitted":2}]},
				"passesAt":"2026-11-20T09:21:48.5Z","refusals":{"days":30,"refused":4,
				"plans":[{"name":"pro","remainAtLeast":1}]}}`),
			received{method: "GET", path: "/v1/requests/a/b"},
			&client.FailedRequest{
				ID: "a/b", Explanation: "e",
				Window: &client.RefusingWindow{Name: "day", Limit: 2,
					Used: []client.KeyUsage{{ID: "key_x", Name: "n", Admitted: 2}}},
				PassesAt: &order.CreatedAt,
				Refusals: &client.Refusals{Days: 30, Refused: 4,
					Plans: []client.LargerPlan{{Name: "pro", RemainAtLeast: 1}}},
			},
		},
		"change an order": {
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.UpdateOrder(ctx, 3, client.OrderPatch{Status: new(client.OrderApproved)})
			},
			answer(200, orderJSON),
			received{method: "PATCH", path: "/v1/store/orders/3", body: `{"status":"approved"}`},
			&order,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, test.answer)
			store := service.store(t, client.WithUserAgent("acme/1.0"))
			got, err := test.call(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if k, ok := got.(*client.Key); ok {
				w := *want.(*client.Key) // several tests have the same
				if k.Key.Reveal() != w.Key.Reveal() {
					t.Errorf("the key %q, want %q", k.Key.Reveal(), w.Key.Reveal())
				}
				k.Key, w.Key, want = client.Secret{}, client.Secret{}, &w
			}
			if diff := diff(want, got); diff != "" {
				t.Errorf("returned (-want +got):\n%s", diff)
			}
			if diff := diff([]received{everywhere(test.sent)}, service.requests()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// everywhere adds the headers that every request has.
func everywhere(r received) received {
	header := http.Header{
		"Authorization":   {"Bearer " + key},
		"Accept":          {"application/json"},
		"Accept-Encoding": {"gzip"},
		"User-Agent":      {"acme/1.0 petstore-go/" + client.Version + " (" + runtime.Version() + ")"},
	}
	for name, values := range r.header {
		header[name] = values
	}
	if r.body != "" {
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	r.header = header
	return r
}

func TestCaptureResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		headers := with("X-Request-Id", "r1", "Idempotent-Replayed", "true")
		service := newService(t,
			failure(503, client.CodeUnavailable, with("X-Request-Id", "r0", "Retry-After", "1")...),
			answer(201, rexJSON, headers...),
			failure(404, client.CodePetNotFound, with("X-Request-Id", "r2")...))
		store := service.store(t)

		var last client.Response
		if _, err := store.CreatePet(
			t.Context(),
			client.NewPet{Name: "Rex"},
			client.CaptureResponse(&last),
		); err != nil {
			t.Fatal(err)
		}
		if last.Header.Get("X-Request-Id") != "r1" {
			t.Errorf("headers %v", last.Header)
		}
		last.Header = nil
		want := client.Response{Status: 201, RequestID: "r1", Rate: rate, Replayed: true}
		if diff := diff(want, last); diff != "" {
			t.Errorf("after success (-want +got):\n%s", diff)
		}

		if _, err := store.GetPet(t.Context(), 1, client.CaptureResponse(&last)); err == nil {
			t.Fatal("no error")
		}
		last.Header = nil
		if diff := diff(client.Response{Status: 404, RequestID: "r2", Rate: rate}, last); diff != "" {
			t.Errorf("after an error (-want +got):\n%s", diff)
		}
	})
}

func TestIfMatchRefused(t *testing.T) {
	t.Parallel()
	service := newService(t, failure(412, client.CodePreconditionFailed))
	store := service.store(t)
	for _, tag := range []string{"", `"`, "abc", `"abc`, `W/abc`, `"a","b"`, `"a b"`, "*", "\"a\n\""} {
		if _, err := store.UpdatePet(
			t.Context(),
			7,
			client.PetPatch{},
			client.IfMatch(tag),
		); err == nil ||
			len(service.requests()) > 0 {
			t.Errorf("%q: %v, %d requests", tag, err, len(service.requests()))
		}
	}
	if _, err := store.UpdatePet(
		t.Context(),
		7,
		client.PetPatch{},
		client.IfMatch(`""`),
	); !errors.Is(
		err,
		client.CodePreconditionFailed,
	) {
		t.Errorf("%v, want CodePreconditionFailed", err)
	}
}
