package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// nested is a good body with an unknown member of n nested arrays.
func nested(n int) string {
	return `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body   string
		status       int
		code, saying string
	}{
		{"none", "", 400, "missing_body", "body"},
		{"array", "[]", 400, "validation_failed", "object, not an array"},
		{"null", "null", 400, "invalid_json", "not null"},
		{"empty object", "{}", 400, "validation_failed", "name is required; categoryId is required."},
		{"name null", `{"name":null,"categoryId":7}`, 400, "invalid_json", "name must not be null"},
		{"name empty", `{"name":"","categoryId":7}`, 400, "validation_failed", "name must not be empty"},
		{"name blank", `{"name":" \t\u00a0\u2003","categoryId":7}`, 400, "validation_failed", "name must have"},
		{"name too long", `{"name":"` + strings.Repeat("é", 256) + `","categoryId":7}`, 400, "validation_failed", "at most 255"},
		{"NUL in a name", `{"name":"a\u0000b","categoryId":7}`, 400, "validation_failed", "name must not contain the NUL"},
		{"category with a fraction", `{"name":"Rex","categoryId":1.5}`, 400, "validation_failed", "categoryId must be an integer"},
		{"status in capitals", `{"name":"Rex","categoryId":7,"status":"Available"}`, 400, "validation_failed", "status must be one of available, pending, sold"},
		{"all wrong at once", `{"name":"","categoryId":1.5,"status":[]}`, 400, "validation_failed",
			"name must not be empty; categoryId must be an integer; status must be a string, not an array."},
		{"a long name twice", `{"` + strings.Repeat("a", 5000) + `":1,"` + strings.Repeat("a", 5000) + `":1}`, 400, "invalid_json", "appears twice"},
		{"bad UTF-8 in a value", "{\"name\":\"\xff\",\"categoryId\":7}", 400, "invalid_json", "UTF-8"},
		{"cut off", `{"name":"Rex","categoryId":7`, 400, "invalid_json", "ends unexpectedly"},
		{"100,000 arrays deep", nested(100_000), 400, "invalid_json", "deeper than 32"},
		{"one byte over 1 MiB", `{"x":"` + strings.Repeat("a", jsonbody.MaxBytes-7) + `"}`, 413, "body_too_large", "1 MiB"},
		{"2 MiB", strings.Repeat(" ", 2<<20), 413, "body_too_large", "1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refuses(t, w, w.request("POST", "/v1/pets", c.body), c.status, c.code, c.saying)
			if len(w.pets.pets[1]) > 0 {
				t.Errorf("stored %v", w.pets.pets[1])
			}
		})
	}
}

// refuses sends a request that must not succeed, and returns the answer's message.
func refuses(t *testing.T, w *world, r *http.Request, status int, code, saying string) {
	t.Helper()
	rec := w.do(r)
	checkAnswer(t, r, rec)
	if rec.Code != status {
		t.Fatalf("status %d, want %d: %s", rec.Code, status, rec.Body)
	}
	if got := checkError(t, r, rec); got != code {
		t.Errorf("code %s, want %s: %s", got, code, rec.Body)
	}
	if plain := strings.ReplaceAll(rec.Body.String(), `\"`, `"`); !strings.Contains(plain, saying) {
		t.Errorf("message does not say %q: %s", saying, rec.Body)
	}
	if rec.Body.Len() > 500 {
		t.Errorf("a message of %d bytes", rec.Body.Len())
	}
}

func TestGoodBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       catalog.NewPet
	}{
		{"least", `{"name":"Rex","categoryId":7}`, catalog.NewPet{Name: "Rex", CategoryID: 7, Status: catalog.Available}},
		{"all", ` {"status":"sold","categoryId":-7,"name":" Rex "} `, catalog.NewPet{Name: " Rex ", CategoryID: -7, Status: catalog.Sold}},
		{"unknown members", `{"id":9,"x":null,"name":"Rex","categoryId":7,"y":[{"name":null}]}`, catalog.NewPet{Name: "Rex", CategoryID: 7, Status: catalog.Available}},
		{"255 characters", `{"name":"` + strings.Repeat("🐕", 255) + `","categoryId":7}`, catalog.NewPet{Name: strings.Repeat("🐕", 255), CategoryID: 7, Status: catalog.Available}},
		{"surrogates", `{"name":"\ud83d\udc15","categoryId":7}`, catalog.NewPet{Name: "🐕", CategoryID: 7, Status: catalog.Available}},
	} {
		got, err := decodeNewPet([]byte(c.body), false)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

func TestBodyHeaders(t *testing.T) {
	t.Parallel()
	const good = `{"name":"Rex","categoryId":7}`
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
		w := newWorld(t)
		rec := w.do(w.request("POST", "/v1/pets", good, c.headers...))
		if rec.Code != c.status || (rec.Code == 415) != (header(rec, "Accept") == "application/json") {
			t.Errorf("%s: %d %s, want %d", c.name, rec.Code, rec.Body, c.status)
		}
	}
	w := newWorld(t)
	r := w.request("POST", "/v1/pets", good)
	r.Header.Add("Content-Type", "application/json")
	refuses(t, w, r, 415, "unsupported_media_type", "application/json")
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, code, saying string }{
		{"/v1/pets?limit=0", "invalid_parameter", "limit must be an integer from 1 to 100"},
		{"/v1/pets?limit=101", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=1.0", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=1e1", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=%2B5", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=+5", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=05", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=-1", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=abc", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=99999999999999999999", "invalid_parameter", "limit must be"},
		{"/v1/pets?limit=5&limit=5", "invalid_parameter", "limit must be given only once"},
		{"/v1/pets?status=Available", "invalid_parameter", "status must be one of available, pending, sold"},
		{"/v1/pets?status=", "invalid_parameter", "status must be one of"},
		{"/v1/pets?status=sold&status=sold", "invalid_parameter", "status must be given only once"},
		{"/v1/pets?cursor=zz", "invalid_cursor", "cursor must be the value of X-Next-Cursor"},
		{"/v1/pets?cursor=", "invalid_cursor", "cursor must be"},
		{"/v1/pets?cursor=000000000000000A", "invalid_cursor", "cursor must be"},
		{"/v1/pets?cursor=0x00000000000001", "invalid_cursor", "cursor must be"},
		{"/v1/pets?cursor=00000000000000001", "invalid_cursor", "cursor must be"},
		{"/v1/pets?cursor=0000000000000001&cursor=0000000000000001", "invalid_parameter", "cursor must be given only once"},
		{"/v1/pets?limit=0&status=x&cursor=zz", "invalid_parameter",
			"limit must be an integer from 1 to 100; status must be one of available, pending, sold; cursor must be"},
		{"/v1/pets?limit=%zz", "invalid_parameter", "query is malformed"},
		{"/v1/pets?limit=5;status=sold", "invalid_parameter", "query is malformed"},
		{"/v1/pets/abc", "pet_not_found", "petId must be a 64-bit integer"},
		{"/v1/pets/1e30", "pet_not_found", "petId must be"},
		{"/v1/pets/1.0", "pet_not_found", "petId must be"},
		{"/v1/pets/+5", "pet_not_found", "petId must be"},
		{"/v1/pets/-", "pet_not_found", "petId must be"},
		{"/v1/pets/-+5", "pet_not_found", "petId must be"},
		{"/v1/pets/01", "pet_not_found", "petId must be"},
		{"/v1/pets/-01", "pet_not_found", "petId must be"},
		{"/v1/pets/1_000", "pet_not_found", "petId must be"},
		{"/v1/pets/%20", "pet_not_found", "petId must be"},
		{"/v1/pets/%00", "pet_not_found", "petId must be"},
		{"/v1/pets/9223372036854775808", "pet_not_found", "petId must be"},
		{"/v1/pets/9223372036854775807", "pet_not_found", "No animal"},
		{"/v1/pets/-1", "pet_not_found", "No animal"},
		{"/v1/pets/-0", "pet_not_found", "No animal"},
	} {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			status := http.StatusBadRequest
			if c.code == "pet_not_found" {
				status = http.StatusNotFound
			}
			refuses(t, w, w.request("GET", c.target, ""), status, c.code, c.saying)
		})
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrong := w.key[:44] + string("01"[w.key[44]&1^1])
	if wrong == w.key {
		wrong = w.key[:44] + "z"
	}
	missing, invalid := challenge, challengeInvalid
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
		{"Bearer alone", []string{"Bearer"}, invalid},
		{"Bearer and spaces", []string{"Bearer   "}, invalid},
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
		{"two headers", []string{"Bearer " + w.key, "Bearer " + w.key}, invalid},
		{"two headers, one Basic", []string{"Basic x", "Bearer " + w.key}, invalid},
	} {
		r := w.request("GET", "/v1/pets", "")
		r.Header["Authorization"] = c.values
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if got := header(rec, "WWW-Authenticate"); got != c.want || (rec.Code == 401) != (c.want != "") {
			t.Errorf("%s: %d, challenge %q, want %q", c.name, rec.Code, got, c.want)
		}
		code := map[string]string{missing: "missing_api_key", invalid: "invalid_api_key"}[c.want]
		if c.want != "" && checkError(t, r, rec) != code {
			t.Errorf("%s: %s, want %s", c.name, rec.Body, code)
		}
	}
	if w.meter.admitted != 3 {
		t.Errorf("counted %d requests, want the 3 with a good key", w.meter.admitted)
	}
}
