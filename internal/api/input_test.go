package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/test/assert"
)

// TestInvalidRequests: the message names what is wrong, and nothing changes. For POST and PATCH the
// values are bodies, for GET they are appended to the target.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	const pets, pet, orders, order = "/v1/pets", "/v1/pets/1", "/v1/store/orders", "/v1/store/orders/1"
	for _, c := range []struct {
		method, target string
		code, saying   string
		values         []string
	}{
		{"GET", pets + "?limit", "invalid_parameter", "limit must be an integer from 1 to 100.",
			[]string{"", "=", "=0", "=101", "=1.0", "=1e1", "=%2B5", "=+5", "=05", "=-1", "=abc",
				"=99999999999999999999"}},
		{"GET", pets + "?limit=5&", "invalid_parameter", "limit must be given only once", []string{"limit=5"}},
		{"GET", pets + "?status=", "invalid_parameter", "status must be one of available, pending, sold.",
			[]string{"", "Available"}},
		{"GET", pets + "?status=sold&", "invalid_parameter", "status must be given only once", []string{"status=sold"}},
		{"GET", pets + "?cursor=", "invalid_cursor", "cursor must be the value of X-Next-Cursor",
			[]string{"", "zz", "000000000000000A", "0x00000000000001", "00000000000000001"}},
		{"GET", pets + "?limit=0&status=x&", "invalid_parameter",
			"limit must be an integer from 1 to 100; status must be one of available, pending, sold; cursor must be",
			[]string{"cursor=zz"}},
		{"GET", pets + "?limit=", "invalid_parameter", "query is malformed", []string{"%zz", "5;status=sold"}},
		{"GET", pets + "/", "pet_not_found", "petId must be a 64-bit integer.",
			[]string{"abc", "1e30", "1.0", "+5", "-", "-+5", "01", "-01", "1_000", "%20", "%00",
				"9223372036854775808"}},
		{"GET", pets + "/", "pet_not_found", "No animal", []string{"9223372036854775807", "-1", "-0"}},
		{"GET", orders + "?status=", "invalid_parameter",
			"status must be one of placed, approved, delivered, cancelled.", []string{"", "available"}},
		{"GET", orders + "?cursor=", "invalid_cursor", "cursor must be", []string{"zz"}},

		{"POST", pets, "missing_body", "body", []string{""}},
		{"POST", pets, "invalid_json", "not null", []string{"null"}},
		{"POST", pets, "invalid_json", "name must not be null", []string{`{"name":null,"categoryId":7}`}},
		{"POST", pets, "validation_failed", "name is required; categoryId is required.", []string{"{}"}},
		{"POST", pets, "validation_failed", "name must not be empty", []string{`{"name":"","categoryId":7}`}},
		{"POST", pets, "validation_failed", "name must have", []string{`{"name":" \t\u00a0\u2003","categoryId":7}`}},
		{"POST", pets, "validation_failed", "at most 255",
			[]string{`{"name":"` + strings.Repeat("é", 256) + `","categoryId":7}`}},
		{"POST", pets, "validation_failed", "name must not contain the NUL",
			[]string{`{"name":"a\u0000b","categoryId":7}`}},
		{"POST", pets, "validation_failed", "categoryId must be an integer",
			[]string{`{"name":"Rex","categoryId":1.5}`}},
		{"POST", pets, "validation_failed", "status must be one of available, pending, sold.",
			[]string{`{"name":"Rex","categoryId":7,"status":"Available"}`}},
		{"POST", pets, "validation_failed",
			"name must not be empty; categoryId must be an integer; status must be a string, not an array.",
			[]string{`{"name":"","categoryId":1.5,"status":[]}`}},
		{"POST", pets, "body_too_large", "1 MiB",
			[]string{`{"x":"` + strings.Repeat("a", jsonbody.MaxBytes-7) + `"}`,
				strings.Repeat(" ", 2*jsonbody.MaxBytes)}},

		{"PATCH", pet, "missing_body", "body", []string{""}},
		{"PATCH", pet, "invalid_json", "name must not be null", []string{`{"name":null}`}},
		{"PATCH", pet, "validation_failed", "name must not", []string{`{"name":""}`, `{"name":"a\u0000"}`}},
		{"PATCH", pet, "validation_failed",
			"name must be a string, not a number; categoryId must be an integer, not a string; status must be a " +
				"string, not an object.",
			[]string{`{"name":5,"categoryId":"","status":{}}`}},
		{"PATCH", pets + "/abc", "validation_failed", "status must be one of available, pending, sold.",
			[]string{`{"status":"Sold"}`}},
		{"PATCH", pets + "/abc", "pet_not_found", "petId must be a 64-bit integer.", []string{"{}"}},
		{"PATCH", pets + "/2", "pet_not_found", "No animal", []string{"{}"}},

		{"POST", orders, "missing_body", "body", []string{""}},
		{"POST", orders, "invalid_json", "petId must not be null", []string{`{"petId":null}`}},
		{"POST", orders, "invalid_json", "quantity must not be null", []string{`{"petId":1,"quantity":null}`}},
		{"POST", orders, "validation_failed", "petId is required.", []string{"{}", `{"petid":1}`}},
		{"POST", orders, "validation_failed", "petId must be a 64-bit integer",
			[]string{`{"petId":9223372036854775808}`}},
		{"POST", orders, "validation_failed", "quantity must be from 1 to 2147483647.",
			[]string{`{"petId":1,"quantity":0}`, `{"petId":1,"quantity":-1}`, `{"petId":1,"quantity":2147483648}`,
				`{"petId":1,"quantity":4294967297}`}},
		{"POST", orders, "validation_failed", "quantity must be a 64-bit integer.",
			[]string{`{"petId":1,"quantity":1e99}`}},
		{"POST", orders, "validation_failed", "quantity must be an integer",
			[]string{`{"petId":1,"quantity":0.5}`, `{"petId":1,"quantity":"2"}`}},
		{"POST", orders, "pet_not_found", "No animal", []string{`{"petId":0}`, `{"petId":-9223372036854775808}`}},

		{"PATCH", order, "missing_body", "body", []string{""}},
		{"PATCH", order, "validation_failed", "status is required.", []string{"{}"}},
		{"PATCH", order, "validation_failed", "status must be one of placed, approved, delivered, cancelled.",
			[]string{`{"status":"sold"}`, `{"status":"Approved"}`}},
		{"PATCH", orders + "/abc", "invalid_json", "status must not be null", []string{`{"status":null}`}},
		{"PATCH", orders + "/abc", "order_not_found", "orderId must be a 64-bit integer.",
			[]string{`{"status":"approved"}`}},
		{"PATCH", orders + "/01", "order_not_found", "orderId must be", []string{`{"status":"approved"}`}},
		{"PATCH", orders + "/9", "order_not_found", "No order", []string{`{"status":"approved"}`}},
	} {
		for _, value := range c.values {
			t.Run(fmt.Sprintf("%s %s %.40s", c.method, c.target, value), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				w.addOrder(t, 1)
				pets, orders := slices.Clone(w.pets.pets[1]), slices.Clone(w.orders.orders[1])
				target, body := c.target, value
				if c.method == "GET" {
					target, body = c.target+value, ""
				}
				refuses(t, w, w.request(c.method, target, body), statusOf(c.code), c.code, c.saying)
				if diff := cmp.Diff(pets, w.pets.pets[1]) + cmp.Diff(orders, w.orders.orders[1]); diff != "" {
					t.Errorf("changed (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// statusOf returns a code's status.
func statusOf(code string) int {
	for _, c := range problem.Codes {
		if c.Name == code {
			return c.Status
		}
	}
	return 0
}

// refuses sends a request that must not succeed, and checks the code and the message.
func refuses(t *testing.T, w *fixture, r *http.Request, status int, code, saying string) {
	t.Helper()
	rec := w.do(r)
	checkAnswer(t, r, rec)
	if rec.Code != status {
		t.Fatalf("status %d, want %d: %s", rec.Code, status, rec.Body)
	}
	assert.Equal(t, checkError(t, r, rec), code, "code", rec.Body)
	plain := strings.ReplaceAll(rec.Body.String(), `\"`, `"`)
	assert.True(t, strings.Contains(plain, saying), "message does not say", saying, rec.Body)
	if rec.Body.Len() > 500 {
		t.Errorf("a message of %d bytes", rec.Body.Len())
	}
}

func TestBodyHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"with charset", []string{"Content-Type", "application/json; charset=UTF-8"}, 201},
		{"with a quoted charset", []string{"Content-Type", `Application/JSON;charset="utf-8"`}, 201},
		{"identity", []string{"Content-Encoding", "Identity"}, 201},
		{"no type", []string{"Content-Type", ""}, 415},
		{"text", []string{"Content-Type", "text/plain"}, 415},
		{"a suffix", []string{"Content-Type", "application/problem+json"}, 415},
		{"another charset", []string{"Content-Type", "application/json; charset=utf-16"}, 415},
		{"another parameter", []string{"Content-Type", "application/json; version=1"}, 415},
		{"rubbish", []string{"Content-Type", "application/json; ="}, 415},
		{"gzip", []string{"Content-Encoding", "gzip"}, 415},
		{"gzip twice over", []string{"Content-Encoding", "identity, gzip"}, 415},
	} {
		w := newFixture(t)
		rec := w.do(w.request("POST", "/v1/pets", rex, c.headers...))
		if rec.Code != c.status || (rec.Code == 415) != (header(rec, "Accept") == "application/json") {
			t.Errorf("%s: %d %s, want %d", c.name, rec.Code, rec.Body, c.status)
		}
	}
	w := newFixture(t)
	r := w.request("POST", "/v1/pets", rex)
	r.Header.Add("Content-Type", "application/json")
	refuses(t, w, r, 415, "unsupported_media_type", "application/json")
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	wrong := w.key[:44] + string("01"[w.key[44]&1^1])
	if wrong == w.key {
		wrong = w.key[:44] + "z"
	}
	missing, invalid, several := problem.Challenge, problem.ChallengeInvalid, problem.ChallengeSeveral
	for _, c := range []struct {
		name   string
		values []string
		want   string
	}{
		{"as usual", []string{"Bearer " + w.key}, ""},
		{"lower case", []string{"bearer " + w.key}, ""},
		{"capitals and spaces", []string{"BEARER    " + w.key}, ""},
		{"none", nil, missing},
		{"empty", []string{""}, missing},
		{"Basic", []string{"Basic dXNlcjpwYXNz"}, missing},
		{"key alone", []string{w.key}, missing},
		{"another scheme with a key", []string{"Token " + w.key}, missing},
		{"a longer scheme", []string{"Bearers " + w.key}, missing},
		{"another longer scheme", []string{"Bearer_" + w.key}, missing},
		{"Bearer alone", []string{"Bearer"}, missing},
		{"Bearer and spaces", []string{"Bearer   "}, missing},
		{"TAB", []string{"Bearer\t" + w.key}, invalid},
		{"space and TAB", []string{"Bearer \t" + w.key}, invalid},
		{"comma", []string{"Bearer," + w.key}, invalid},
		{"wrong checksum", []string{"Bearer " + wrong}, invalid},
		{"cut off", []string{"Bearer " + w.key[:44]}, invalid},
		{"one more character", []string{"Bearer " + w.key + "a"}, invalid},
		{"two keys in one", []string{"Bearer " + w.key + ", Bearer " + w.key}, invalid},
		{"a parameter", []string{"Bearer " + w.key + " x=1"}, invalid},
		{"quoted", []string{`Bearer "` + w.key + `"`}, invalid},
		{"rubbish", []string{"Bearer ☃\x00"}, invalid},
		{"two headers", []string{"Bearer " + w.key, "Bearer " + w.key}, several},
		{"two headers, one Basic", []string{"Basic x", "Bearer " + w.key}, several},
	} {
		r := w.request("GET", "/v1/pets", "")
		r.Header["Authorization"] = c.values
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if got := header(rec, "WWW-Authenticate"); got != c.want || (rec.Code == 401) != (c.want != "") {
			t.Errorf("%s: %d, challenge %q, want %q", c.name, rec.Code, got, c.want)
		}
		code := map[string]string{missing: "missing_api_key", invalid: "invalid_api_key",
			several: "invalid_api_key"}[c.want]
		if c.want != "" && checkError(t, r, rec) != code {
			t.Errorf("%s: %s, want %s", c.name, rec.Body, code)
		}
	}
	assert.Equal(t, w.meter.admitted, 3, "counted requests")
}
