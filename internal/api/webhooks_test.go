package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/webhooks"
)

const hookMembers = `"events":["key.banned"],"description":"","environment":"live"`

// TestSecretsAreShownOnce: the secret is in the response that made it, and nowhere else: not in a
// repeated one, a list, or the log. What is stored opens to it, with the ID of the endpoint.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	w := manages(t)
	const body = `{"url":"https://EXAMPLE.com/a","events":["key.banned"]}`
	rec := w.do(w.request("POST", "/v1/webhooks", body, "Idempotency-Key", "k"))
	var made struct{ Secret string }
	assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &made))
	want := `{"id":7,"url":"https://example.com/a",` + hookMembers + `,"status":"pending","disabledReason":null,` +
		`"createdAt":"2026-11-20T09:21:48Z"`
	assert.Equal(t, rec.Body.String(), want+`,"secret":"`+made.Secret+"\"}\n")
	assert.Equal(t, header(rec, "Location")+header(rec, "ETag"), baseURL+`/webhooks/7"1"`)
	stored, err := w.sealer.Open(7, w.webhooks.sealed)
	assert.NoError(t, err)
	assert.Equal(t, "whsec_"+base64.StdEncoding.EncodeToString(stored), made.Secret)
	assert.Equal(t, len(stored), 32, "bytes")

	rec = w.do(w.request("POST", "/v1/webhooks", body, "Idempotency-Key", "k"))
	assert.Equal(t, rec.Body.String(), `{"code":"webhook_already_created","message":"A request with this `+
		`Idempotency-Key has added the webhook 7. Nobody can show its secret again: rotate it.","status":409}`+"\n")
	assert.Equal(t, w.do(w.request("GET", "/v1/webhooks/7", "")).Body.String(), want+"}\n")

	rec = w.do(w.request("POST", "/v1/webhooks/7/rotate", ""))
	var rotated struct{ Secret string }
	assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &rotated))
	assert.True(
		t,
		rec.Code == 200 && rotated.Secret != made.Secret && len(rotated.Secret) == len(made.Secret),
		rec.Body,
	)
	assert.Equal(t, w.webhooks.asked, any(24*time.Hour))
	for _, secret := range []string{made.Secret, rotated.Secret} {
		seen := w.logs.String() + fmt.Sprint(
			w.requests.stored,
		) + w.do(
			w.request("GET", "/v1/webhooks", ""),
		).Body.String()
		assert.True(t, len(secret) > 40 && !strings.Contains(seen, secret), "the secret is shown again")
	}
}

// TestInvalidWebhooks: the message names all that is wrong, and nothing is asked of the store.
func TestInvalidWebhooks(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for _, c := range []struct{ request, body, code, want string }{
		{"POST /v1/webhooks", `{}`, "validation_failed", "url is required."},
		{"POST /v1/webhooks", `{"url":7,"events":["key.banned","moon.rising"],"description":"\u0000","x":1}`,
			"validation_failed", `unknown members "x": want only url, events, description; url must be a string, ` +
				`not a number; events: there is no type of event "moon.rising"; description must have 1 to 100 ` +
				`characters, not only blanks, without control and format characters and without an API key: it has ` +
				`U+0000.`},
		{"POST /v1/webhooks", `{"url":"https://a.example","events":[]}`, "validation_failed",
			`events: name at least one type of event, or "*".`},
		{"POST /v1/webhooks", `{"url":"http://a.example"}`, "invalid_url", "url does not begin with https://."},
		{"POST /v1/webhooks", `{"url":"https://u:p@a.example"}`, "invalid_url", "url has a user name or password."},
		{"POST /v1/webhooks", `{"url":"https://169.254.169.254/"}`, "invalid_url",
			"url has an address that is not public."},
		{"PATCH /v1/webhooks/1", `{"url":"https://a.example:8443"}`, "invalid_url",
			"url has a port that is not allowed: use 443."},
		{"PATCH /v1/webhooks/1", `{"status":"pending"}`, "validation_failed",
			"status must be one of enabled, disabled."},
		{"POST /v1/webhooks/1/rotate", `{"gracePeriod":604801}`, "validation_failed",
			"gracePeriod must be from 0 to 604800 seconds."},
		{"POST /v1/webhooks/1/replay", `{"since":"yesterday"}`, "validation_failed",
			"since must be a date and time, such as 2026-11-20T09:21:48Z."},
		{"POST /v1/webhooks/1/replay", `{"types":["x"],"all":1}`, "validation_failed",
			`types: there is no type of event "x"; all must be a boolean, not a number.`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		rec := w.do(w.request(method, path, c.body))
		var got struct{ Code, Message string }
		assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got))
		assert.Equal(t, fmt.Sprint(rec.Code, got.Code, " ", got.Message), fmt.Sprint(400, c.code, " ", c.want), c.body)
	}
	assert.Equal(t, w.webhooks.asked, nil, "asked of the store")
}

// TestChangingAWebhook: with the version that If-Match names, and with null for no description.
func TestChangingAWebhook(t *testing.T) {
	t.Parallel()
	w := manages(t)
	tag := header(w.do(w.request("GET", "/v1/webhooks/1", "")), "ETag")
	change := func() int {
		const body = `{"description":null,"status":"disabled","events":["*"]}`
		return w.do(w.request("PATCH", "/v1/webhooks/1", body, "If-Match", tag)).Code
	}
	assert.Equal(t, change(), 200)
	p, ok := w.webhooks.asked.(webhooks.EndpointPatch)
	assert.True(t, ok && *p.Description == "" && !*p.Enabled && (*p.Events)[0] == "*" && p.URL == nil, p)
	assert.Equal(t, change(), 412)
	rec := w.do(w.request("GET", "/v1/webhooks", ""))
	assert.Equal(t, rec.Body.String(), `[{"id":1,"url":"https://example.com/hook",`+hookMembers+`,"status":"disabled",`+
		`"disabledReason":"customer","createdAt":"2026-11-20T09:21:48Z"}]`+"\n")
	assert.Equal(t, w.do(w.request("GET", "/v1/webhooks", "", "If-None-Match", header(rec, "ETag"))).Code, 304)
	assert.Equal(t, w.do(w.request("DELETE", "/v1/webhooks/1", "")).Code, 204)
	assert.Equal(t, w.do(w.request("DELETE", "/v1/webhooks/1", "")).Code, 404)
}

// TestDeliveries: page by page, with what the endpoint said as text.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	w := manages(t)
	rec := w.do(w.request("GET", "/v1/webhooks/1/deliveries?limit=1", ""))
	assert.Equal(
		t,
		rec.Body.String(),
		`[{"id":12,"eventId":"8e03978e-40d5-43e8-bc93-6894a57f9324","type":"key.banned",`+
			`"createdAt":"2026-11-20T09:21:48Z","status":"waiting","nextAttemptAt":"2026-11-20T09:21:53Z","attempts":[`+
			`{"at":"2026-11-20T09:21:48Z","durationMs":87,"status":500,"answer":"\u0000`+"\ufffd"+`<b>",`+
			`"problem":null},`+
			`{"at":"2026-11-20T09:21:48Z","durationMs":10000,"status":null,"answer":"",`+
			`"problem":"no answer within 10 seconds"}]}]`+"\n",
	)
	next := baseURL + "/webhooks/1/deliveries?cursor=000000000000000c&limit=1"
	assert.True(t, strings.HasPrefix(header(rec, "Link"), "<"+next+`>; rel="next"`), header(rec, "Link"))
	rec = w.do(w.request("GET", strings.TrimPrefix(next, "https://api.example.com"), ""))
	assert.True(t, strings.HasPrefix(rec.Body.String(), `[{"id":11,`) && header(rec, "X-Next-Cursor") == "", rec.Body)
	assert.True(t, strings.Contains(rec.Body.String(), `"status":"delivered","nextAttemptAt":null,"attempts":[]`))

	rec = w.do(w.request("POST", "/v1/webhooks/1/deliveries/12/retry", ""))
	assert.True(t, rec.Code == 202 && w.webhooks.asked == any(int64(12)), rec.Code, rec.Body)
	rec = w.do(w.request("POST", "/v1/webhooks/1/deliveries/13/retry", ""))
	assert.True(t, strings.Contains(rec.Body.String(), `"delivery_not_found"`), rec.Body)
	rec = w.do(
		w.request("POST", "/v1/webhooks/1/replay", `{"since":"2026-11-19T01:00:00+01:00","types":["*"],"all":true}`),
	)
	assert.Equal(t, fmt.Sprint(rec.Code, rec.Body, w.webhooks.asked),
		"202 {\"deliveries\":2}\n {2026-11-19 00:00:00 +0000 UTC 0001-01-01 00:00:00 +0000 UTC [*] true}")
}

// TestRefusedWebhooks: each refusal of the store has its code. A 503 says whether a change may have
// been made.
func TestRefusedWebhooks(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for want, err := range map[string]error{
		"404 webhook_not_found": webhooks.ErrNotFound, "409 too_many_webhooks": webhooks.ErrTooMany,
		"409 webhook_disabled": webhooks.ErrDisabled, "429 rate_limit_exceeded": webhooks.ErrManyPings,
		"401 invalid_api_key": keys.ErrRequester, "403 insufficient_scope": keys.ErrRequesterScope,
		"503 outcome_unknown": keys.ErrUnavailable, "503 unavailable": keys.ErrRequesterBanned,
	} {
		w.webhooks.refused = err
		path := "/v1/webhooks/1/test"
		if strings.Contains(want, "too_many") {
			path = "/v1/webhooks"
		}
		rec := w.do(w.request("POST", path, `{"url":"https://a.example"}`))
		var got struct{ Code string }
		assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got))
		assert.Equal(t, fmt.Sprint(rec.Code, " ", got.Code), want)
	}
}

// TestWebhooksThatAreOff: without a key for secrets none is made, and those that are there can be
// seen and removed.
func TestWebhooksThatAreOff(t *testing.T) {
	t.Parallel()
	w := manages(t, func(c *Config) { c.Webhooks.Sealer = nil })
	for request, want := range map[string]int{
		"GET /v1/webhooks": 200, "POST /v1/webhooks": 503, "POST /v1/webhooks/1/rotate": 503,
		"POST /v1/webhooks/1/test": 202,
	} {
		method, path, _ := strings.Cut(request, " ")
		body := ""
		if request == "POST /v1/webhooks" {
			body = `{"url":"https://a.example"}`
		}
		rec := w.do(w.request(method, path, body))
		assert.Equal(t, rec.Code, want, request)
		assert.Equal(t, strings.Contains(rec.Body.String(), "not set up"), want == 503, request)
	}
	assert.Equal(t, w.do(w.request("DELETE", "/v1/webhooks/1", "")).Code, 204)
}
