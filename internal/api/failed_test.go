package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestFailedRequestsAreRecorded: every status of 400 and more, whosever request it is, with nothing
// that the client wrote but its request ID.
func TestFailedRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	known := func(status int, code, reason, method, route string) usage.FailedRequest {
		return usage.FailedRequest{
			At:        at,
			RequestID: "r-1",
			TenantID:  1,
			KeyID:     "key_acme",
			Plan:      plans.Free,
			Status:    status,
			Code:      code,
			Reason:    reason,
			Method:    method,
			Route:     route,
		}
	}
	stranger := func(status int, code, reason string) usage.FailedRequest {
		return usage.FailedRequest{
			At: at, RequestID: "r-1", Status: status, Code: code, Reason: reason, Method: "GET", Route: "/v1/pets",
		}
	}
	unknown, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	over := func(perMinute, perDay, ofKey int64) func(*fixture) { // uses one of each up
		return func(w *fixture) {
			w.take(t, w.acme(t, func(c *keys.Caller) {
				c.Tenant, c.PerMinute = &plans.Tenant{
					ID:    1,
					Name:  "acme",
					Plan:  plans.Free,
					Quota: plans.Quota{PerMinute: perMinute, PerDay: perDay},
				}, ofKey
			}), 1)
		}
	}
	refused := func(code string, window limits.WindowName, reset int64, method, route string) usage.FailedRequest {
		f := known(429, code, "", method, route)
		f.Window, f.Limit, f.Reset = string(window), 1, reset
		return f
	}
	ofBan := known(429, "key_banned", "", "GET", "/v1/usage")
	ofBan.Reset = 1795167409
	removed := time.Unix(1922659200, 0)
	gone := known(410, "endpoint_removed", "", "GET", "/v1/pets/{petId}")
	gone.At = removed
	for name, test := range map[string]struct {
		prepare              func(*fixture)
		method, target, body string
		headers              []string
		want                 usage.FailedRequest
	}{
		"over the minute": {
			prepare: over(1, 9, 0), method: "GET", target: "/v1/pets/7?secret=" + secret,
			want: refused("rate_limit_exceeded", limits.Minute, 1795166557, "GET", "/v1/pets/{petId}"),
		},
		"over the day": {
			prepare: over(9, 1, 0), method: "POST", target: "/v1/pets",
			want: refused("daily_quota_exceeded", limits.Day, 1795219200, "POST", "/v1/pets"),
		},
		"over the key's own": {
			prepare: over(9, 9, 1), method: strings.ToUpper(secret), target: "/v1/" + secret,
			want: refused("rate_limit_exceeded", limits.Key, 1795166557, "other", ""),
		},
		"a ban": {prepare: func(w *fixture) { ban(t, w, nil) }, method: "GET", target: "/v1/usage", want: ofBan},
		"a parameter": {
			method: "GET", target: "/v1/pets?limit=" + secret,
			want: known(400, "invalid_parameter", "", "GET", "/v1/pets"),
		},
		"a body": {
			method: "POST", target: "/v1/pets", body: `{"name":7,"` + secret + `":1}`,
			want: known(400, "validation_failed", "", "POST", "/v1/pets"),
		},
		"no animal": {
			method: "GET", target: "/v1/pets/404", want: known(404, "pet_not_found", "", "GET", "/v1/pets/{petId}"),
		},
		"no route": {
			method: "GET", target: "/v1/" + secret, want: known(404, "route_not_found", "", "GET", ""),
		},
		"no method": {
			method: strings.ToUpper(secret), target: "/v1/pets",
			want: known(405, "method_not_allowed", "", "other", ""),
		},
		"the database": {
			prepare: func(w *fixture) { w.pets.err = catalog.ErrUnavailable },
			method:  "GET", target: "/v1/pets", want: known(503, "unavailable", usage.DatabaseDown, "GET", "/v1/pets"),
		},
		"an error of ours": {
			prepare: func(w *fixture) { w.pets.err = errors.New(secret) },
			method:  "GET", target: "/v1/pets", want: known(500, "internal_error", "", "GET", "/v1/pets"),
		},
		"a revoked key": {
			prepare: func(w *fixture) {
				w.directory.change(t, w.key,
					func(c *keys.Caller) { c.RevokedAt = at.Unix() })
			}, method: "GET", target: "/v1/pets", want: known(401, "invalid_api_key", "revoked", "GET", "/v1/pets"),
		},
		"a key that expires while it is looked up": {
			prepare: func(w *fixture) {
				w.directory.change(t, w.key, func(c *keys.Caller) { c.ExpiresAt = at.Add(time.Millisecond) })
				w.directory.fail(keys.StatusError(keys.Expired))
			},
			method: "GET", target: "/v1/pets", want: known(401, "invalid_api_key", "expired", "GET", "/v1/pets"),
		},
		"a step that is forbidden": {
			prepare: func(w *fixture) { w.addPet(t, catalog.Sold) }, method: "PATCH", target: "/v1/pets/1",
			body: `{"status":"pending"}`,
			want: known(409, "invalid_transition", "", "PATCH", "/v1/pets/{petId}"),
		},
		"a long body": {
			method: "POST", target: "/v1/pets", body: strings.Repeat(" ", 1<<20+1),
			want: known(413, "body_too_large", "", "POST", "/v1/pets"),
		},
		"a long address": {
			method: "GET", target: "/v1/pets?x=" + strings.Repeat("x", maxURI),
			headers: []string{"Authorization", ""}, want: stranger(414, "uri_too_long", ""),
		},
		"a body that is no JSON": {
			method: "POST", target: "/v1/pets", body: rex, headers: []string{"Content-Type", "text/plain"},
			want: known(415, "unsupported_media_type", "", "POST", "/v1/pets"),
		},
		"a key for another body": {
			prepare: func(w *fixture) { w.sendOnce("/v1/pets", rex, "k") }, method: "POST", target: "/v1/pets",
			body: mia, headers: []string{"Idempotency-Key", "k"},
			want: known(422, "idempotency_key_reused", "", "POST", "/v1/pets"),
		},
		"a suspended tenant": {
			prepare: func(w *fixture) { w.directory.fail(keys.StatusError(keys.TenantSuspended)) }, method: "GET",
			target: "/v1/pets",
			want:   known(401, "invalid_api_key", "tenant_suspended", "GET", "/v1/pets"),
		},
		"a client that disconnects": {
			method: "GET", target: "/v1/pets", want: known(499, "unavailable", usage.ClientGone, "GET", "/v1/pets"),
		},
		"an operation that was removed": {
			prepare: func(w *fixture) { w.setClock(removed) }, method: "GET", target: "/v1/pets/1",
			want: gone,
		},
		"no key": {
			method: "GET", target: "/v1/pets", headers: []string{"Authorization", ""},
			want: stranger(401, "missing_api_key", ""),
		},
		"another scheme": {
			method: "GET", target: "/v1/pets", headers: []string{"Authorization", "Basic " + secret},
			want: stranger(401, "missing_api_key", usage.OtherScheme),
		},
		"a malformed key": {
			method: "GET", target: "/v1/pets", headers: []string{"Authorization", "Bearer " + secret},
			want: stranger(401, "invalid_api_key", usage.Malformed),
		},
		"several headers": {
			method: "GET", target: "/v1/pets", want: stranger(401, "invalid_api_key", usage.SeveralHeaders),
		},
		"an unknown key": {
			method: "GET", target: "/v1/pets", headers: []string{"Authorization", "Bearer " + unknown.Reveal()},
			want: stranger(401, "invalid_api_key", usage.UnknownKey),
		},
		"a key of another environment": {
			prepare: func(w *fixture) { w.directory.fail(keys.ErrOtherEnvironment) }, method: "GET", target: "/v1/pets",
			want: stranger(401, "invalid_api_key", usage.OtherEnvironment),
		},
		"nobody knows whose the key is": {
			prepare: func(w *fixture) { w.directory.fail(keys.ErrUnavailable) }, method: "GET", target: "/v1/pets",
			want: stranger(503, "unavailable", usage.DatabaseDown),
		},
	} {
		w := newFixture(t)
		if test.prepare != nil {
			test.prepare(w)
		}
		ctx, disconnect := context.WithCancel(t.Context())
		if test.want.Reason == usage.ClientGone {
			w.pets.before, w.pets.err = disconnect, context.Canceled
		}
		r := w.request(
			test.method,
			test.target,
			test.body,
			append(test.headers, "X-Request-Id", "r-1")...).WithContext(ctx)
		if test.want.Reason == usage.SeveralHeaders {
			r.Header.Add("Authorization", "Bearer x")
		}
		rec := w.do(r)
		disconnect()
		if diff := cmp.Diff(
			[]usage.FailedRequest{test.want},
			w.failed.all,
		); diff != "" ||
			rec.Code != test.want.Status && test.want.Status != statusGone {
			t.Errorf("%s: %d (-want +got):\n%s", name, rec.Code, diff)
		}
	}
}

// TestStrangersFailuresAreBounded: an address uses up little of what all strangers share.
func TestStrangersFailuresAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addresses.limit = 100
	for range 150 {
		w.do(w.request("GET", "/v1/pets", "", "Authorization", "Bearer x"))
	}
	stored := map[string]int{}
	for _, f := range w.failed.all {
		stored[f.Code+" "+f.Window]++
	}
	if diff := cmp.Diff(
		map[string]int{"invalid_api_key ": storedPerAddress, "rate_limit_exceeded ip": 50},
		stored,
	); diff != "" {
		t.Errorf("stored of 150 (-want +got):\n%s", diff)
	}
}
