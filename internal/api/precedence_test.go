package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// TestPrecedence sends one request that is wrong in every way there is, and rights it step by step.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setClock(removal)
	w.addresses.limit = 0
	w.directory.fail(keys.ErrUnavailable)
	w.pets.err = errors.New("bug")
	q := plans.Quota{PerMinute: 1, PerDay: 100}
	w.directory.change(t, w.key, func(c *keys.Caller) {
		c.Tenant = &plans.Tenant{ID: 1, Plan: plans.Free, Quota: q}
		c.Ban = &keys.Ban{Reason: "test", EndsAt: removal.Add(1000)}
	})
	w.limiter.Take(t.Context(), limits.Claim{TenantID: 1, Quota: q}, removal)

	w.requests.err = catalog.ErrIdempotencyKeyReused
	r := w.request(
		"DELETE",
		"/v1/nothing?limit=0&"+strings.Repeat("x", maxURI),
		strings.Repeat(" ", jsonbody.MaxBytes+1),
		"Content-Type",
		"text/plain",
		"Idempotency-Key",
		strings.Repeat("k", 256),
	)
	body := func(b string) func() {
		return func() {
			fresh := w.request(r.Method, r.RequestURI, b)
			fresh.Header = r.Header
			r = fresh
		}
	}
	target := func(method, path string) func() {
		return func() {
			header := r.Header
			r = w.request(method, path, strings.Repeat(" ", jsonbody.MaxBytes+1))
			r.Header = header
		}
	}
	for _, step := range []struct {
		right func()
		want  string
	}{
		{func() {}, "uri_too_long"},
		{target("DELETE", "/v1/nothing"), "unavailable"},
		{func() { w.directory.fail(keys.ErrInvalidKey) }, "rate_limit_exceeded"},
		{func() { w.addresses.limit = 100; w.directory.fail(nil) }, "key_banned"},
		{func() { w.directory.change(t, w.key, func(c *keys.Caller) { c.Ban = nil }) }, "rate_limit_exceeded"},
		{func() { w.setClock(removal.Add(60e9)); r.Header.Del("Authorization") }, "route_not_found"},
		{target("DELETE", "/v1/pets/abc"), "method_not_allowed"},
		{target("GET", "/v1/pets/abc"), "missing_api_key"},
		{func() {
			r.Header.Set("Authorization", "Bearer "+w.key)
			w.setPlan(t, plans.Free, plans.Quota{PerMinute: 100, PerDay: 100})
			w.narrow(t, keys.ScopeRead, "198.51.100.1")
		}, "address_not_allowed"},
		{func() { w.narrow(t, keys.ScopeRead, "192.0.2.1") }, "endpoint_removed"},
		{target("POST", "/v1/pets"), "insufficient_scope"},
		{func() { w.narrow(t, keys.ScopeWrite, "192.0.2.1") }, "body_too_large"},
		{body(""), "missing_body"},
		{body("{"), "unsupported_media_type"},
		{func() { r.Header.Set("Content-Type", "application/json"); body("{")() }, "idempotency_key_invalid"},
		{func() { r.Header.Set("Idempotency-Key", "k"); body("{")() }, "invalid_json"},
		{body(`{"name":"Rex"}`), "validation_failed"},
		{body(rex), "idempotency_key_reused"},
		{func() { w.requests.err = catalog.ErrIdempotencyInProgress; body(rex)() }, "idempotency_in_progress"},
		{func() { w.requests.err = nil; body(rex)() }, "internal_error"},
		{func() { w.pets.err = nil; body(rex)() }, ""},
		{func() { w.setClock(removal.Add(-1)); target("GET", "/v1/pets/99")() }, "pet_not_found"},
		{func() { r.Header.Set("If-Match", `"x"`); target("PATCH", "/v1/pets/99")() }, "body_too_large"},
		{body(`{"status":"x"}`), "validation_failed"},
		{body(`{"status":"sold"}`), "pet_not_found"},
		{func() { target("PATCH", "/v1/pets/1")(); body(`{"status":"sold"}`)() }, "precondition_failed"},
		{func() { r.Header.Set("If-Match", "*"); body(`{"status":"sold"}`)() }, "invalid_transition"},
		{func() { target("POST", "/v1/store/orders")(); r.Header.Set("Idempotency-Key", "o") }, "body_too_large"},
		{func() { w.requests.err = catalog.ErrIdempotencyKeyReused; body(`{"petId":99}`)() }, "idempotency_key_reused"},
		{func() { w.requests.err = nil; body(`{"petId":99}`)() }, "pet_not_found"},
		{body(`{"petId":1}`), ""},
		{func() { r.Header.Set("Idempotency-Key", "p"); body(`{"petId":1}`)() }, "pet_not_available"},
		{func() { r.Header.Set("If-Match", `"x"`); target("PATCH", "/v1/store/orders/99")() }, "body_too_large"},
		{body(`{"status":"delivered"}`), "order_not_found"},
		{func() { target("PATCH", "/v1/store/orders/1")(); body(`{"status":"delivered"}`)() }, "precondition_failed"},
		{func() { r.Header.Del("If-Match"); body(`{"status":"delivered"}`)() }, "invalid_transition"},
		{func() { r.Header.Set("If-Match", `"x"`); target("PATCH", "/v1/keys/x")() }, "insufficient_scope"},
		{func() {
			w.narrow(t, keys.ScopeManage, "")
			for range keys.MaxChanges {
				w.do(w.request("PATCH", "/v1/keys/"+ciKey, "{}"))
			}
			target("PATCH", "/v1/keys/x")()
		}, "rate_limit_exceeded"},
		{func() { w.setClock(removal.Add(60e9)); target("PATCH", "/v1/keys/x")() }, "body_too_large"},
		{body(`{"scope":"x","allowedAddresses":["198.51.100.1"]}`), "validation_failed"},
		{func() {
			target("PATCH", "/v1/keys/self")()
			body(`{"allowedAddresses":["198.51.100.1"]}`)()
		}, "would_lock_out"},
		{func() { target("PATCH", "/v1/keys/x")(); body(`{"name":"x"}`)() }, "key_not_found"},
		{func() { target("PATCH", "/v1/keys/"+ciKey)(); body(`{"name":"x"}`)() }, "precondition_failed"},
		{func() { r.Header.Del("If-Match"); w.keys.find(1, ciKey).RevokedAt = at; body(`{"name":"x"}`)() },
			"key_not_active"},
		{func() {
			for range gate.MaxFreeReads {
				w.do(w.request("GET", "/v1/requests", ""))
			}
			target("GET", "/v1/requests?code=x&cursor=y")()
		}, "rate_limit_exceeded"},
		{func() { w.setClock(w.clock().Add(time.Minute)) }, "invalid_parameter"},
		{target("GET", "/v1/requests?cursor=y"), "invalid_cursor"},
		{target("GET", "/v1/requests/nothing"), "request_not_found"},
	} {
		step.right()
		rec := w.do(r)
		checkAnswer(t, r, rec)
		got := ""
		if rec.Code >= http.StatusBadRequest {
			got = checkError(t, r, rec)
		}
		if got != step.want {
			t.Fatalf("%s %.40s: %d %q, want %q", r.Method, r.RequestURI, rec.Code, got, step.want)
		}
	}
}
