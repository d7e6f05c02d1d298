package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// removal is the first instant of 5 December 2030, from which on GET /v1/pets/{petId} is gone.
var removal = time.Unix(1922659200, 0)

// released are the files that never change.
var released = regexp.MustCompile(`^/docs/clients/.*\.(tgz|whl|zip|mod|info)$`)

// checkAnswer holds what is promised of every answer of every kind, and returns the code of an
// error.
func checkAnswer(t *testing.T, r *http.Request, rec *httptest.ResponseRecorder) (code string) {
	t.Helper()
	h := rec.Result().Header
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if n, err := strconv.ParseInt(
			header(rec, name),
			10,
			64,
		); err != nil || n < 0 ||
			header(rec, name) != strconv.FormatInt(n, 10) {
			t.Errorf("%s: %q, want one plain integer", name, h[name])
		}
	}
	for _, name := range []string{"X-Request-Id", "RateLimit", "RateLimit-Policy"} {
		assert.True(t, header(rec, name) != "", name, h[name], "want one value")
	}
	if header(rec, "Access-Control-Allow-Origin") != "*" ||
		header(rec, "Access-Control-Expose-Headers") != exposedHeaders[0] {
		t.Errorf("a browser's page can't read the answer: %v", h)
	}
	cache := "no-store"
	if (rec.Code == 200 || rec.Code == 304) && (r.Method == "GET" || r.Method == "HEAD") {
		cache = "private, no-cache"
		if released.MatchString(r.URL.Path) {
			cache = "public, max-age=31536000, immutable, no-transform"
		}
	}
	assert.Equal(t, header(rec, "Cache-Control"), cache, "Cache-Control")
	if rec.Code >= 400 {
		return checkError(t, r, rec)
	}
	return ""
}

// checkError holds what is promised of every error, and returns its code.
func checkError(t *testing.T, r *http.Request, rec *httptest.ResponseRecorder) string {
	t.Helper()
	assert.Equal(t, header(rec, "Content-Type"), "application/json", "Content-Type")
	needs := map[int]string{
		401: "WWW-Authenticate",
		405: "Allow",
		415: "Accept",
		429: "Retry-After",
		503: "Retry-After",
	}
	if name := needs[rec.Code]; name != "" && header(rec, name) == "" {
		t.Errorf("%d without %s", rec.Code, name)
	}
	if r.Method == http.MethodHead {
		assert.True(t, rec.Body.Len() == 0, "HEAD with a body", rec.Body)
		return ""
	}
	var members map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &members); err != nil {
		t.Errorf("body %q: %v", rec.Body, err)
		return ""
	}
	code, _ := members["code"].(string)
	message, _ := members["message"].(string)
	status, _ := members["status"].(float64)
	if len(members) != 3 || code == "" || message == "" || int(status) != rec.Code {
		t.Errorf("body %s: want code, message and the status %d", rec.Body, rec.Code)
	}
	if code == "invalid_json" && r.Header.Get("X-Petstore-Simulate") == "" &&
		!regexp.MustCompile(`\(line \d+, column \d+\)\.$`).MatchString(message) {
		t.Errorf("message %q has no line and column", message)
	}
	known := func(c *problem.Code) bool { return c.Name == code && c.Status == rec.Code }
	if !slices.ContainsFunc(problem.Codes, known) {
		t.Errorf("code %s with status %d is not in the table", code, rec.Code)
	}
	return code
}

// TestEveryAnswer sends every route, and two that don't exist, every kind of request there is, and
// so meets every code.
func TestEveryAnswer(t *testing.T) {
	t.Parallel()
	var met sync.Map
	t.Cleanup(func() {
		for _, c := range problem.Codes {
			// net/http finds a malformed request before there is any. An unknown outcome needs an
			// Invalidator: TestOutcomesOfWrites.
			if _, ok := met.Load(
				c.Name,
			); !ok && c != problem.MalformedRequest && c != problem.OutcomeUnknown &&
				!t.Failed() {
				t.Errorf("nothing met %s", c.Name)
			}
		}
	})
	all := append(
		routesOf(table()),
		route{method: "GET", path: "/v1/nothing", public: true},
		route{method: "DELETE", path: "/v1/pets", public: true},
	)
	for _, r := range all {
		for _, k := range kinds {
			t.Run(r.method+" "+r.path+" "+k.name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				req := w.goodRequest(t, r)
				k.make(t, w, req)
				rec := w.do(req)
				if code := checkAnswer(t, req, rec); code != "" {
					met.Store(code, true)
				}
				checkReadable(t, rec.Result().Header)
				want := k.want(r)
				assert.Equal(t, rec.Code, want, "status", rec.Body)
				assert.Equal(t, header(rec, "X-Stability"), string(r.stability), "X-Stability")
				deprecated := header(rec, "Deprecation") == "@1764892800" && header(rec, "Link") != "" &&
					header(rec, "Sunset") == "Thu, 05 Dec 2030 00:00:00 GMT"
				if deprecated != (r.deprecated != nil) {
					t.Errorf("deprecation headers: %v, want %v", deprecated, !deprecated)
				}
			})
		}
	}
}

// goodRequest makes a request that succeeds, where the route exists.
func (w *fixture) goodRequest(t *testing.T, r route) *http.Request {
	t.Helper()
	pet := w.addPet(t, catalog.Available)
	order := w.addOrder(t, 1)
	if r.scope == keys.ScopeManage {
		w.narrow(t, keys.ScopeManage, "")
	}
	w.own.all = []usage.FailedDetail{
		{
			FailedRequest: usage.FailedRequest{
				At:        at,
				RequestID: "1",
				TenantID:  1,
				KeyID:     "key_acme",
				Status:    404,
				Code:      "pet_not_found",
				Method:    "GET",
			},
		},
	}
	body := map[string]string{
		"POST /v1/keys":                        `{"name":"ci","scope":"read"}`,
		"PATCH /v1/keys/{keyId}":               `{"name":"nightly","perMinute":null}`,
		"POST /v1/keys/{keyId}/rotate":         `{"gracePeriod":86400}`,
		"POST /v1/keys/{keyId}/revoke":         `{"reason":"it leaked"}`,
		"POST /v1/webhooks":                    `{"url":"https://example.com/hook"}`,
		"PATCH /v1/webhooks/{webhookId}":       `{"events":["*"]}`,
		"POST /v1/webhooks/{webhookId}/rotate": `{}`,
		"POST /v1/webhooks/{webhookId}/replay": `{}`,
		"POST /v1/pets":                        `{"name":"Mia","categoryId":7}`,
		"PATCH /v1/pets/{petId}":               `{"name":"Mia","status":"pending"}`,
		"POST /v1/store/orders":                fmt.Sprintf(`{"petId":%d}`, pet),
		"PATCH /v1/store/orders/{orderId}":     `{"status":"approved"}`,
	}[r.method+" "+r.path]
	return w.request(
		r.method,
		strings.NewReplacer(
			"{petId}",
			fmt.Sprint(pet),
			"{orderId}",
			fmt.Sprint(order),
			"{keyId}",
			ciKey,
			"{requestId}",
			"1",
			"{webhookId}",
			"1",
			"{deliveryId}",
			"12",
		).Replace(r.path),
		body,
	)
}

// addPet adds an animal of acme's and returns its id.
func (w *fixture) addPet(t testing.TB, s catalog.Status) int64 {
	t.Helper()
	pet, err := w.pets.CreatePet(t.Context(), 1, catalog.NewPet{Name: "Rex", CategoryID: 7, Status: s})
	assert.NoError(t, err)
	return pet.ID
}

// addOrder adds an animal of acme's and an order of it, and returns the order's id.
func (w *fixture) addOrder(t *testing.T, quantity int32) int64 {
	t.Helper()
	order, err := w.orders.PlaceOrder(
		t.Context(),
		1,
		catalog.NewOrder{PetID: w.addPet(t, catalog.Available), Quantity: quantity},
	)
	assert.NoError(t, err)
	return order.ID
}

// kind is a way in which a request can go.
type kind struct {
	name string
	make func(*testing.T, *fixture, *http.Request)
	// operation is the answer of an operation, public that of OPTIONS and where there is no route,
	// 0 for what it would be anyway.
	operation, public int
	// status is the answer of the operations that it concerns, nil for none.
	concerns func(route) bool
	status   int
}

// want returns the status that a route answers to this kind of request.
func (k kind) want(r route) int {
	switch {
	case !r.public && k.name == "after its removal" && r.deprecated != nil:
		return 410
	case !r.public && k.concerns != nil && k.concerns(r) && k.status != 200:
		return k.status
	case !r.public && k.concerns != nil && k.concerns(r):
		return success(r)
	case !r.public && k.operation != 0:
		return k.operation
	case r.path == "/v1/plans" && r.method != "OPTIONS":
		return k.wantOfPlans()
	case r.public && k.public != 0 && (r.method != "OPTIONS" || k.public == 414):
		return k.public
	case r.path == "/v1/nothing":
		return 404
	case r.method == "DELETE" && r.path == "/v1/pets":
		return 405
	}
	return success(r)
}

// success is the status of a request that is as it should be.
func success(r route) int {
	switch {
	case r.method == "OPTIONS":
		return 204
	case makes(r):
		return 201
	case r.method == "DELETE":
		return 204
	case queues(r):
		return 202
	}
	return 200
}

// wantOfPlans is want for GET /v1/plans, which is public, counts nowhere, and has a store and an
// ETag.
func (k kind) wantOfPlans() int {
	switch {
	case k.name == "what the client has":
		return 304
	case k.operation >= 500:
		return k.operation
	case k.public != 0 && k.status != 200:
		return k.public
	}
	return 200
}

// Which operations a kind of request concerns.
var (
	unmetered = func(r route) bool { return r.unmetered }
	posts     = func(r route) bool { return r.method == "POST" }
	ofHooks   = func(r route) bool { return strings.HasPrefix(r.path, "/v1/webhooks") && !reads(r) }
	makesHook = func(r route) bool { return r.method == "POST" && r.path == "/v1/webhooks" }
	makes     = func(r route) bool {
		return r.method == "POST" && !strings.HasSuffix(r.path, "/revoke") && (!ofHooks(r) || makesHook(r))
	}
	changesHook = func(r route) bool { return ofHooks(r) && !makesHook(r) }
	retries     = func(r route) bool { return strings.HasSuffix(r.path, "/retry") && !reads(r) }
	// optional are the paths of operations whose body may be left out.
	optional = regexp.MustCompile("/(revoke|rotate|replay)$")
	queues   = func(r route) bool {
		return ofHooks(r) && r.method == "POST" && !makesHook(r) && !strings.HasSuffix(r.path, "/rotate")
	}
	reads     = func(r route) bool { return r.method == "GET" || r.method == "HEAD" || r.method == "OPTIONS" }
	needsBody = func(r route) bool {
		return bodies(r) && !optional.MatchString(r.path)
	}
	ofKeys   = func(r route) bool { return strings.HasPrefix(r.path, "/v1/keys") && bodies(r) }
	editsKey = func(r route) bool { return ofKeys(r) && needsBody(r) }
	needs    = func(scope keys.Scope) func(route) bool {
		return func(r route) bool { return slices.Index(keys.Scopes, r.scope) >= slices.Index(keys.Scopes, scope) }
	}
	bodies = func(r route) bool {
		return (r.method == "POST" || r.method == "PATCH") && !retries(r) && !strings.HasSuffix(r.path, "/test")
	}
	lists = func(r route) bool {
		return tagged(r) && !rows(r) && r.path != "/v1/webhooks" || strings.HasSuffix(r.path, "/deliveries")
	}
	pets    = func(r route) bool { return lists(r) && strings.HasSuffix(r.path, "/pets") }
	patches = func(r route) bool { return r.method == "PATCH" }
	tagged  = func(r route) bool {
		return reads(r) && (!r.unmetered || r.path == "/v1/keys" || r.path == "/v1/webhooks" ||
			strings.HasSuffix(r.path, "/deliveries") || strings.HasPrefix(r.path, "/v1/requests"))
	}
	failures = func(r route) bool { return r.path == "/v1/requests" }
	rows     = func(r route) bool { return strings.Contains(r.path, "{") }
	// steps are those that need the status to be one from which they can go on.
	steps = func(r route) bool {
		return r.method == "PATCH" || r.method+r.path == "POST/v1/store/orders" || strings.HasSuffix(r.path, "/rotate")
	}
)

func setHeader(name, value string) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, _ *fixture, r *http.Request) { r.Header.Set(name, value) }
}

func sendBody(body string) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, _ *fixture, r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
}

func authorization(values ...string) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, _ *fixture, r *http.Request) { r.Header["Authorization"] = values }
}

func narrowed(scope keys.Scope, ranges keys.Ranges) func(*testing.T, *fixture, *http.Request) {
	return func(t *testing.T, w *fixture, _ *http.Request) { w.narrow(t, scope, ranges) }
}

// quota gives acme another quota, and uses it up.
func quota(q plans.Quota) func(*testing.T, *fixture, *http.Request) {
	return func(t *testing.T, w *fixture, _ *http.Request) {
		w.setPlan(t, plans.Free, q)
		for range min(q.PerMinute, q.PerDay) {
			w.limiter.Take(t.Context(), limits.Claim{TenantID: 1, Quota: q}, at)
		}
	}
}

// keyLimit gives acme's key a limit of its own, and uses it up.
func keyLimit(t *testing.T, w *fixture, _ *http.Request) {
	var c *keys.Caller
	w.directory.change(t, w.key, func(changed *keys.Caller) { changed.PerMinute, c = 1, changed })
	w.limiter.Take(t.Context(), gate.Claim(c), at)
}

var kinds = []kind{
	{name: "as it should be", make: func(*testing.T, *fixture, *http.Request) {}},
	{name: "no key", make: authorization(), operation: 401},
	{name: "another scheme", make: authorization("Basic YTpi"), operation: 401},
	{name: "a broken key", make: authorization("Bearer pst_live_x"), operation: 401},
	{name: "another address than the key's", make: narrowed(keys.ScopeWrite, "198.51.100.1"), operation: 403},
	{
		name:     "a key that may only read",
		make:     narrowed(keys.ScopeRead, "192.0.2.1"),
		concerns: needs(keys.ScopeWrite),
		status:   403,
	},
	{name: "a key that may manage keys", make: narrowed(keys.ScopeManage, "")},
	{
		name:     "a key that may write from here",
		make:     narrowed(keys.ScopeWrite, "192.0.2.0/24"),
		concerns: needs(keys.ScopeManage),
		status:   403,
	},
	{name: "too many changes of keys", make: func(_ *testing.T, w *fixture, r *http.Request) {
		for range keys.MaxChanges {
			w.do(w.request("PATCH", "/v1/keys/"+ciKey, `{"name":"x"}`))
		}
	}, concerns: func(r route) bool { return r.changesKeys }, status: 429},
	{name: "a key that was rotated", make: refuse(&keys.AlreadyRotatedError{ID: ciKey}), concerns: ofKeys, status: 409},
	{name: "ten keys", make: refuse(keys.ErrTooManyKeys), concerns: ofKeys, status: 409},
	{name: "the last key that may manage keys", make: refuse(keys.ErrLastManageKey), concerns: ofKeys, status: 409},
	{name: "who may no longer change keys", make: refuse(keys.ErrRequester), concerns: ofKeys, status: 401},
	{name: "an expiry that has just passed", make: refuse(keys.ErrExpiryPast), concerns: ofKeys, status: 400},
	{
		name:     "five webhooks",
		make:     refuseWebhook(webhooks.ErrTooMany, "POST/v1/webhooks"),
		concerns: makesHook,
		status:   409,
	},
	{
		name:     "a disabled webhook",
		make:     refuseWebhook(webhooks.ErrDisabled, "/test", "/retry", "/replay"),
		concerns: queues,
		status:   409,
	},
	{
		name:     "no such webhook",
		make:     refuseWebhook(webhooks.ErrNotFound, "/1", "/rotate", "/test", "/retry", "/replay"),
		concerns: changesHook,
		status:   404,
	},
	{
		name:     "no such delivery",
		make:     refuseWebhook(webhooks.ErrDeliveryNotFound, "/retry"),
		concerns: retries,
		status:   404,
	},
	{name: "a URL inside", make: func(_ *testing.T, _ *fixture, r *http.Request) {
		if r.URL.Path == "/v1/webhooks" {
			sendBody(`{"url":"https://127.0.0.1"}`)(nil, nil, r)
		}
	}, concerns: makesHook, status: 400},
	{name: "a webhook that was added", make: func(_ *testing.T, w *fixture, r *http.Request) {
		r.Header.Set("Idempotency-Key", "h")
		if r.URL.Path == "/v1/webhooks" {
			const body = `{"url":"https://example.com/hook"}`
			w.do(w.request(r.Method, r.URL.Path, body, "Idempotency-Key", "h"))
		}
	}, concerns: makesHook, status: 409},
	{name: "addresses elsewhere", make: func(_ *testing.T, _ *fixture, r *http.Request) {
		if r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/v1/keys/") {
			r.URL.Path, r.RequestURI = "/v1/keys/self", "/v1/keys/self"
			sendBody(`{"name":"ci","allowedAddresses":["198.51.100.0/24"]}`)(nil, nil, r)
		}
	}, concerns: func(r route) bool { return editsKey(r) && r.method == http.MethodPatch }, status: 409},
	{name: "a key that was issued", make: func(_ *testing.T, w *fixture, r *http.Request) {
		r.Header.Set("Idempotency-Key", "k")
		if strings.HasPrefix(r.URL.Path, "/v1/keys") {
			body, _ := io.ReadAll(r.Body)
			sendBody(string(body))(nil, nil, r)
			w.do(w.request(r.Method, r.URL.Path, string(body), "Idempotency-Key", "k"))
		}
	}, concerns: func(r route) bool { return ofKeys(r) && makes(r) }, status: 409},
	{
		name:      "two keys",
		make:      func(_ *testing.T, w *fixture, r *http.Request) { r.Header.Add("Authorization", "Bearer "+w.other) },
		operation: 401,
	},
	{
		name:      "a revoked key",
		make:      func(_ *testing.T, w *fixture, _ *http.Request) { w.directory.fail(keys.ErrInvalidKey) },
		operation: 401,
	},
	{
		name:      "over the minute",
		make:      quota(plans.Quota{PerMinute: 2, PerDay: 9}),
		operation: 429,
		public:    429,
		concerns:  unmetered,
		status:    200,
	},
	{
		name:      "over the day",
		make:      quota(plans.Quota{PerMinute: 9, PerDay: 2}),
		operation: 429,
		public:    429,
		concerns:  unmetered,
		status:    200,
	},
	{
		name: "over the month",
		make: quota(plans.Quota{PerMinute: 9, PerDay: 2, Month: plans.Month{Kind: plans.SomeMonth, Included: 1,
			Overage: plans.Overage{Kind: plans.OverageNumber, Value: 1}}}),
		operation: 429,
		public:    429,
		concerns:  unmetered,
		status:    200,
	},
	{name: "over the key's own limit", make: keyLimit, operation: 429, public: 429, concerns: unmetered, status: 200},
	{name: "banned", make: ban, operation: 429, public: 429},
	{name: "address over its limit", make: func(t *testing.T, w *fixture, r *http.Request) {
		w.addresses.limit = 0
		r.Header.Del("Authorization")
	}, operation: 429, public: 429},
	{
		name: "a long URI",
		make: func(_ *testing.T, _ *fixture, r *http.Request) {
			r.RequestURI += "?" +
				strings.Repeat("x", maxURI)
		},
		operation: 414,
		public:    414,
	},
	{name: "keys unavailable", make: func(_ *testing.T, w *fixture, _ *http.Request) {
		w.directory.fail(fmt.Errorf("look up: %w", keys.ErrUnavailable))
	}, operation: 503, public: 503},
	{
		name:      "a bug in the directory",
		make:      func(_ *testing.T, w *fixture, _ *http.Request) { w.directory.fail(errors.New("bug")) },
		operation: 500,
		public:    500,
	},
	{name: "catalogue unavailable", make: func(_ *testing.T, w *fixture, _ *http.Request) {
		w.pets.err = fmt.Errorf("list: %w", catalog.ErrUnavailable)
	}, operation: 503},
	{
		name:      "a bug in the catalogue",
		make:      func(_ *testing.T, w *fixture, _ *http.Request) { w.pets.err = errors.New("bug") },
		operation: 500,
	},
	{
		name:      "a panic",
		make:      func(_ *testing.T, w *fixture, _ *http.Request) { w.pets.before = func() { panic("bug") } },
		operation: 500,
	},
	{name: "no body", make: sendBody(""), concerns: needsBody, status: 400},
	{name: "no JSON", make: sendBody("{"), concerns: bodies, status: 400},
	{name: "a body of nothing known", make: sendBody("[]"), concerns: bodies, status: 400},
	{name: "a long body", make: sendBody(strings.Repeat(" ", jsonbody.MaxBytes+1)), concerns: bodies, status: 413},
	{name: "a body of another type", make: setHeader("Content-Type", "text/plain"), concerns: bodies, status: 415},
	{
		name:     "a bad query",
		make:     func(_ *testing.T, _ *fixture, r *http.Request) { r.URL.RawQuery = "limit=0&cursor=zz" },
		concerns: lists,
		status:   400,
	},
	{
		name:     "a bad cursor",
		make:     func(_ *testing.T, _ *fixture, r *http.Request) { r.URL.RawQuery = "cursor=zz" },
		concerns: lists,
		status:   400,
	},
	{
		name:     "a bad query of failed requests",
		make:     func(_ *testing.T, _ *fixture, r *http.Request) { r.URL.RawQuery = "since=x&code=zz" },
		concerns: failures,
		status:   400,
	},
	{name: "over what is free", make: func(t *testing.T, w *fixture, r *http.Request) {
		for range 60 { // what its plan allows of other requests, which is less than maxFreeReads
			w.do(w.request("GET", "/v1/requests", ""))
		}
	}, concerns: func(r route) bool { return strings.HasPrefix(r.path, "/v1/requests") }, status: 429},
	{name: "over the reads of keys", make: func(t *testing.T, w *fixture, r *http.Request) {
		for range 60 {
			w.do(w.request("GET", "/v1/keys/self", ""))
		}
	}, concerns: func(r route) bool {
		return (strings.HasPrefix(r.path, "/v1/keys") || strings.HasPrefix(r.path, "/v1/webhooks")) && reads(r)
	}, status: 429},
	{name: "what the client has", make: setHeader("If-None-Match", "*"), concerns: tagged, status: 304},
	{
		name:     "bad filters",
		make:     func(_ *testing.T, _ *fixture, r *http.Request) { r.URL.RawQuery = "ids=1,,2&name=&categoryId=+7" },
		concerns: pets,
		status:   400,
	},
	{name: "filters", make: func(_ *testing.T, _ *fixture, r *http.Request) {
		r.URL.RawQuery = "ids=1,2&name=R&categoryId=7"
	}},
	{name: "what has changed", make: setHeader("If-Match", `"x"`), concerns: patches, status: 412},
	{name: "a weak tag", make: setHeader("If-Match", `W/"x"`), concerns: patches, status: 412},
	{name: "rubbish in If-Match", make: setHeader("If-Match", "x"), concerns: patches, status: 412},
	{name: "any tag", make: setHeader("If-Match", "*")},
	{name: "rubbish in If-None-Match", make: setHeader("If-None-Match", `x, W/", *`)},
	{name: "unknown preferences", make: setHeader("Prefer", "respond-async, return=minimal, x")},
	{name: "strict", make: setHeader("Prefer", "handling=strict")},
	{name: "an idempotency key", make: setHeader("Idempotency-Key", "k")},
	{
		name:     "a long idempotency key",
		make:     setHeader("Idempotency-Key", strings.Repeat("k", 256)),
		concerns: posts,
		status:   400,
	},
	{name: "a request in progress", make: failOnce(catalog.ErrIdempotencyInProgress), concerns: makes, status: 409},
	{name: "a key used again", make: failOnce(catalog.ErrIdempotencyKeyReused), concerns: makes, status: 422},
	{name: "no such row", make: func(_ *testing.T, w *fixture, _ *http.Request) {
		w.pets.pets[1], w.orders.orders[1], w.own.all, w.webhooks.tenants[1] = nil, nil, nil, nil
		w.keys.keys[1] = slices.DeleteFunc(w.keys.keys[1], func(k keys.CustomerKey) bool { return k.ID == ciKey })
	},
		concerns: func(r route) bool { return rows(r) || steps(r) }, status: 404},
	{name: "no such id", make: func(_ *testing.T, _ *fixture, r *http.Request) {
		r.URL.Path = strings.ReplaceAll(strings.ReplaceAll(r.URL.Path, "/1", "/abc"), "/key_", "/abc_")
	},
		concerns: rows, status: 404},
	{name: "all is final", make: final, concerns: func(r route) bool { return steps(r) && !ofHooks(r) },
		status: 409},
	{name: "a page's request", make: setHeader("Origin", "https://shop.example")},
	{name: "after its removal", make: func(_ *testing.T, w *fixture, _ *http.Request) { w.setClock(removal) }},
}

// failOnce makes the store of requests return an error.
func failOnce(err error) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, w *fixture, r *http.Request) {
		r.Header.Set("Idempotency-Key", "k")
		w.requests.err = fmt.Errorf("once: %w", err)
	}
}

// refuse makes changes of keys fail.
func refuseWebhook(err error, of ...string) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, w *fixture, r *http.Request) {
		ends := func(suffix string) bool { return strings.HasSuffix(r.Method+r.URL.Path, suffix) }
		if strings.HasPrefix(r.URL.Path, "/v1/webhooks") && slices.ContainsFunc(of, ends) {
			w.webhooks.refused = err
		}
	}
}

func refuse(err error) func(*testing.T, *fixture, *http.Request) {
	return func(_ *testing.T, w *fixture, _ *http.Request) {
		for _, action := range []string{"key.issue", "key.edit", "key.rotate", "key.revoke"} {
			w.keys.refused[action] = err
		}
	}
}

// final gives all animals and orders statuses that stay.
func final(_ *testing.T, w *fixture, _ *http.Request) {
	for i := range w.pets.pets[1] {
		w.pets.pets[1][i].Status = catalog.Sold
	}
	for i := range w.orders.orders[1] {
		w.orders.orders[1][i].Status = catalog.Cancelled
	}
	w.keys.find(1, ciKey).RevokedAt = at
}

func ban(t *testing.T, w *fixture, _ *http.Request) {
	w.directory.change(t, w.key, func(c *keys.Caller) {
		c.Ban = &keys.Ban{KeyID: c.KeyID, Reason: keys.AutomaticReason, StartsAt: at, EndsAt: at.Add(900_000_000_001)}
	})
}
