package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// message returns that of an error.
func message(t *testing.T, body []byte) string {
	t.Helper()
	var e struct{ Message string }
	assert.Equal(t, json.Unmarshal(body, &e), nil, body)
	return e.Message
}

// TestWrongPath: the message names method and path, however long or odd they are, and a path that
// may be meant.
func TestWrongPath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const see, query = " See https://api.example.com/docs.", " A query begins with ?, not with %3F."
	long := strings.Repeat("x", 5000)
	for target, want := range map[string]string{
		"/v2/pets":      "GET /v2/pets: there is no such path. Did you mean /v1/pets?" + see,
		"/v1/pets/":     "GET /v1/pets/: there is no such path. Did you mean /v1/pets?" + see,
		"/v1/pets/7/":   "GET /v1/pets/7/: there is no such path. Did you mean /v1/pets/7?" + see,
		"/pets/7":       "GET /pets/7: there is no such path. Did you mean /v1/pets/7?" + see,
		"/store/orders": "GET /store/orders: there is no such path. Did you mean /v1/store/orders?" + see,
		"/api/v1/usage": "GET /api/v1/usage: there is no such path. Did you mean /v1/usage?" + see,
		"/v1/orders":    "GET /v1/orders: there is no such path. Did you mean /v1/store/orders?" + see,
		"/orders/7":     "GET /orders/7: there is no such path. Did you mean /v1/store/orders/7?" + see,
		"/openapi.json": "GET /openapi.json: there is no such path. Did you mean /v1/openapi.json?" + see,
		"/docs/rate-limiting": "GET /docs/rate-limiting: there is no such path. Did you mean /docs/limits?" +
			see,
		"/docs/rate-limiting.md": "GET /docs/rate-limiting.md: there is no such path. Did you mean " +
			"/docs/limits.md?" + see,
		"/docs/Versions": "GET /docs/Versions: there is no such path. Did you mean /docs/versioning?" +
			see,
		"/docs/eror":        "GET /docs/eror: there is no such path." + see,
		"/docs/erors":       "GET /docs/erors: there is no such path. Did you mean /docs/errors?" + see,
		"/errors":           "GET /errors: there is no such path. Did you mean /docs/errors?" + see,
		"/V1/Pets":          "GET /V1/Pets: there is no such path. Did you mean /v1/pets?" + see,
		"/v1/pet":           "GET /v1/pet: there is no such path. Did you mean /v1/pets?" + see,
		"/v1/cats":          "GET /v1/cats: there is no such path." + see,
		"/v1/pet/1":         "GET /v1/pet/1: there is no such path. Did you mean /v1/pets/1?" + see,
		"/v1/order/1":       "GET /v1/order/1: there is no such path. Did you mean /v1/store/orders/1?" + see,
		"/v2/store/order/1": "GET /v2/store/order/1: there is no such path. Did you mean /v1/store/orders/1?" + see,
		"/pet/1":            "GET /pet/1: there is no such path. Did you mean /v1/pets/1?" + see,
		"/v1/key/self/rotate": "GET /v1/key/self/rotate: there is no such path. Did you mean " +
			"/v1/keys/self/rotate?" + see,
		"/v1/request/7f": "GET /v1/request/7f: there is no such path. Did you mean /v1/requests/7f?" + see,
		"/v1/pet/1/2":    "GET /v1/pet/1/2: there is no such path." + see,
		"/v1/pets%3Flimit=5": "GET /v1/pets%3Flimit=5: there is no such path. " +
			"Did you mean /v1/pets?" + see + query,
		"/v1/pet%3flimit=5": "GET /v1/pet%3flimit=5: there is no such path. " +
			"Did you mean /v1/pets?" + see + query,
		"/v1/cats%3F":                 "GET /v1/cats%3F: there is no such path." + see + query,
		"/v1/pets%2F1":                "GET /v1/pets%2F1: there is no such path. Did you mean /v1/pets/1?" + see,
		"/v1/c%61ts":                  "GET /v1/c%61ts: there is no such path." + see,
		"/v1/a%20b+c/%25/%e4":         "GET /v1/a%20b+c/%25/%e4: there is no such path." + see,
		"/v1/x%2F%70st_live_Zb7Q0m":   "GET /v1/x/pst_***: there is no such path." + see,
		"/v1/x/ps%74_live_Zb7Q0m":     "GET /v1/x/pst_***: there is no such path." + see,
		"/v1/a%0D%0Ab%00%C3%A9\"<":    `GET /v1/a%0D%0Ab%00%C3%A9"<: there is no such path.` + see,
		"/v1/pets/1/pst_live_Zb7Q0m":  "GET /v1/pets/1/pst_***: there is no such path." + see,
		"/" + long:                    "GET /" + long[:maxShown-1] + "...: there is no such path." + see,
		"/v1/x?key=pst_live_whatever": "GET /v1/x: there is no such path." + see,
	} {
		r := w.request("GET", target, "", "Authorization", "")
		rec := w.do(r)
		if code := checkAnswer(t, r, rec); code != "route_not_found" || message(t, rec.Body.Bytes()) != want {
			t.Errorf("%.60s: %s, want %s", target, rec.Body, want)
		}
	}
	rec := w.do(w.request("GET", "/v1/pets/7%3Fx=1", ""))
	assert.Equal(t, message(t, rec.Body.Bytes()), "petId must be a 64-bit integer."+query, "%3F in an ID")
	r := w.request("GET", "/nothing", "")
	r.Method = strings.Repeat("M", 3000)
	if rec := w.do(r); rec.Code != 404 || rec.Body.Len() > 300 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestHelp: every error leads to the documentation of its code, which is there, and a 403 or 429 to
// the caller's that failed so. A deprecated operation keeps its own links.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.BaseURL = "https://gateway.example.com/animals/v1" })
	errors := w.do(w.request("GET", "/docs/errors", "", "Accept-Encoding", ""))
	for _, c := range problem.Codes {
		if !strings.Contains(errors.Body.String(), `id="`+c.Name+`"`) {
			t.Errorf("/docs/errors has no %s", c.Name)
		}
	}
	const help = `<https://gateway.example.com/animals/docs/errors#`
	for target, want := range map[string]string{
		"/v1/nothing": help + `route_not_found>; rel="help"`, "/v1/pets?limit=0": help +
			`invalid_parameter>; rel="help"`,
	} {
		assert.Equal(t, header(w.do(w.request("GET", target, "")), "Link"), want, target, "Link")
	}
	w.narrow(t, keys.ScopeRead, "")
	const failed = `, <https://gateway.example.com/animals/v1/requests?code=`
	assert.Equal(t, header(w.do(w.request("POST", "/v1/pets", rex)), "Link"),
		help+`insufficient_scope>; rel="help"`+failed+`insufficient_scope>; rel="describedby"`, "Link of a 403")
	w.addresses.limit = 0
	assert.Equal(t, header(w.do(w.request("GET", "/v1/pets", "", "Authorization", "")), "Link"),
		help+`rate_limit_exceeded>; rel="help"`+failed+`rate_limit_exceeded>; rel="describedby"`, "Link of a 429")
	got := header(w.do(w.request("GET", "/v1/pets/999", "")), "Link")
	if !strings.HasPrefix(got, `</animals/docs/deprecations/get-pet>; rel="deprecation"`) ||
		!strings.HasSuffix(got, `, `+help+`pet_not_found>; rel="help"`) {
		t.Errorf("Link of a deprecated operation: %s", got)
	}
}

// TestEntry: the base URL answers where to go, a program and a browser, and counts nothing.
func TestEntry(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, target := range []string{"/v1", "/v1/"} {
		for accept, want := range map[string]int{
			"": 200, "*/*": 200, "application/json": 200, "text/html;q=0.5, application/json": 200,
			"text/html, application/json": 200, "text/html;q=0": 200,
			"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": 303, "text/html": 303,
		} {
			for _, key := range []string{"", "Bearer " + w.key, "Bearer wrong"} {
				r := w.request("GET", target, "", "Accept", accept, "Authorization", key)
				rec := w.do(r)
				checkAnswer(t, r, rec)
				if rec.Code != want || header(rec, "Vary") != "Accept" ||
					want == 303 && header(rec, "Location") != "/docs" {
					t.Errorf("%s for %q: %d %v", target, accept, rec.Code, rec.Result().Header)
				}
			}
		}
		w.meter.admitted = 0
		var got entryPoint
		assert.NoError(t, json.Unmarshal(w.do(w.request("GET", target, "")).Body.Bytes(), &got))
		for _, address := range []string{got.Documentation, got.OpenAPI, got.Pets, got.Orders, got.Usage,
			got.Requests} {
			if rec := w.do(
				w.request("GET", strings.TrimPrefix(address, "https://api.example.com"), ""),
			); rec.Code != 200 {
				t.Errorf("%s: %d", address, rec.Code)
			}
		}
		if n := w.meter.admitted; n != 4 { // the two lists, and two pages
			t.Errorf("%d requests counted", n)
		}
		if rec := w.do(w.request("POST", target, "{}")); rec.Code != 405 ||
			header(rec, "Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: %d, %v", target, rec.Code, rec.Result().Header)
		}
	}
}

// TestPagesWithASlash: a slash at the end of a page's address leads to the page.
func TestPagesWithASlash(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.BaseURL = "https://gateway.example.com/animals/v1" })
	for target, want := range map[string]string{"/docs/": "/animals/docs", "/docs/errors/": "/animals/docs/errors",
		"/docs/nothing/": "", "/v1/pets/": ""} {
		for _, method := range []string{"GET", "HEAD"} {
			rec := w.do(w.request(method, target, "", "Authorization", ""))
			if got := header(
				rec,
				"Location",
			); got != want ||
				(rec.Code == http.StatusPermanentRedirect) != (want != "") {
				t.Errorf("%s %s: %d, Location %q, want %q", method, target, rec.Code, got, want)
			}
		}
	}
}

// TestUnknownParameters: an unknown parameter is ignored, and named; with strict handling it is
// refused.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.addPet(t, "available")
	w.addOrder(t, 1)
	many := ""
	for i := range 30 {
		many += "&p" + string(rune('a'+i%26)) + strings.Repeat("x", i*10) + "=1"
	}
	for _, c := range []struct {
		method, target, body, ignored, refused string
	}{
		{"GET", "/v1/pets?stauts=sold&limit=1", "", "stauts",
			"stauts is not a parameter of this operation (did you mean status?)."},
		{"GET", "/v1/pets?stauts=sold&limit=0", "", "stauts",
			"stauts is not a parameter of this operation (did you mean status?); limit must be an integer from 1 to " +
				"100."},
		{"GET", "/v1/store/orders?Limit=1&x=1&x=2", "", "Limit, x",
			"Limit is not a parameter of this operation " +
				"(did you mean limit?); x is not a parameter of this operation."},
		{"GET", "/v1/pets/1?fields=name", "", "fields", "fields is not a parameter of this operation."},
		{"GET", "/v1/usage?a%2Cb%0D%0A=1&%zz", "", "a%2Cb%0D%0A, %25zz",
			"a%2Cb%0D%0A is not a parameter of this operation; %25zz is not a parameter of this operation."},
		{"GET", "/v1/?v=2", "", "v", "v is not a parameter of this operation."},
		{"GET", "/v1/openapi.json?v=2", "", "v", "v is not a parameter of this operation."},
		{"POST", "/v1/pets?dry_run=1", rex, "dry_run", "dry_run is not a parameter of this operation."},
		{"PATCH", "/v1/pets/1?dry_run=1", `{"name":"Mia"}`, "dry_run", "dry_run is not a parameter of this operation."},
		{"GET", "/v1/pets?limit=1&status=sold&", "", "", ""},
		{"GET", "/docs/errors?from=mail", "", "", ""},
		{"OPTIONS", "/v1/pets?stauts=sold", "", "", ""},
	} {
		lenient := w.do(w.request(c.method, c.target, c.body))
		if header(lenient, "X-Ignored-Parameters") != c.ignored ||
			lenient.Code >= 400 && !strings.Contains(c.target, "limit=0") {
			t.Errorf(
				"%s %s: %d, ignored %q, want %q: %s",
				c.method,
				c.target,
				lenient.Code,
				header(lenient, "X-Ignored-Parameters"),
				c.ignored,
				lenient.Body,
			)
		}
		strict := w.do(w.request(c.method, c.target, c.body, "Prefer", "handling=strict"))
		refused := ""
		if strict.Code == 400 {
			refused = message(t, strict.Body.Bytes())
		}
		if refused != c.refused || header(strict, "X-Ignored-Parameters") != "" ||
			refused != "" && header(strict, "Preference-Applied") != "handling=strict" {
			t.Errorf("%s %s, strict: %d %s, want %q", c.method, c.target, strict.Code, strict.Body, c.refused)
		}
	}
	rec := w.do(w.request("GET", "/v1/pets?"+many, ""))
	if got := header(
		rec,
		"X-Ignored-Parameters",
	); rec.Code != 200 || strings.Count(got, ", ") != maxIgnored-1 ||
		len(got) > maxIgnored*(maxShown+5) {
		t.Errorf("%d names, %d bytes", strings.Count(got, ", ")+1, len(got))
	}
	pet := w.pets.pets[1][0]
	assert.Equal(t, pet.ID, id, pet)
	// The body's own errors come first, as ever.
	if rec := w.do(w.request("POST", "/v1/pets?dry_run=1", "", "Prefer", "handling=strict")); !strings.Contains(
		rec.Body.String(),
		"missing_body",
	) {
		t.Errorf("%s", rec.Body)
	}
}
