package contract_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
)

var load = sync.OnceValues(func() (*contract.Document, error) {
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return contract.Load(text)
})

func document(t testing.TB) *contract.Document {
	t.Helper()
	d, err := load()
	assert.NoError(t, err)
	return d
}

const (
	always = "X-RateLimit-Limit: 60|X-RateLimit-Remaining: 59|X-RateLimit-Reset: 1795166568|X-Request-Id: " +
		"x|Cache-Control: no-store|" +
		`RateLimit-Policy: "minute";q=60;w=60|RateLimit: "minute";r=59;t=60|Access-Control-Allow-Origin: *|` +
		"Access-Control-Expose-Headers: Link|Content-Type: application/json|Date: now|"
	found      = always + `ETag: "x"|Link: <x>; rel="first"|`
	packed     = always + `ETag: W/"x"|Link: <x>; rel="first"|Content-Encoding: gzip|Vary: Accept-Encoding|`
	deprecated = always + "Deprecation: @1764892800|Sunset: Thu, 05 Dec 2030 00:00:00 GMT|Link: <x>; " +
		"rel=\"deprecation\"|"
	beta    = always + "X-Stability: beta|"
	refused = always + `Link: <https://api.example.com/docs/errors#x>; rel="help"|`
)

// TestCheck holds the checks themselves: each of them fails when it should, and only then.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, request string
		status        int
		headers, body string
		want          string // "" for an exchange that keeps the contract
	}{
		{"a list", "GET /v1/pets", 200, found, `[{"id":1,"name":"Rex","categoryId":7,"status":"available"}]`, ""},
		{"a compressed list", "GET /v1/pets", 200, packed, gzipped(`[]`), ""},
		{"a compressed list that breaks the contract", "GET /v1/pets", 200, packed, gzipped(`[{"id":"1"}]`), "id"},
		{
			"another encoding",
			"GET /v1/pets",
			200,
			strings.Replace(packed, "gzip", "br", 1),
			`[]`,
			`the Content-Encoding is "br"`,
		},
		{"no compressed body", "GET /v1/pets", 200, packed, `[]`, "compressed body"},
		{"half of a compressed body", "GET /v1/pets", 200, packed, gzipped(`[]`)[:16], "compressed body"},
		{
			"compressed, with the tag of what is not",
			"GET /v1/pets",
			200,
			strings.Replace(packed, "W/", "", 1),
			gzipped(`[]`),
			`ETag "\"x\""`,
		},
		{
			"not compressed, with a weak tag",
			"GET /v1/pets",
			200,
			strings.Replace(found, `"x"`, `W/"x"`, 1),
			`[]`,
			"for every cache",
		},
		{
			"compressed, for every cache",
			"GET /v1/pets",
			200,
			strings.Replace(packed, "Vary: Accept-Encoding|", "", 1),
			gzipped(`[]`),
			`Vary ""`,
		},
		{"for every client", "GET /v1/pets", 200, found + "Vary: *|", `[]`, `Vary is "*"`},
		{
			"nothing but pages is compressed",
			"GET /v1/pets/1",
			200,
			deprecated + `ETag: W/"x"|Content-Encoding: gzip|Vary: Accept-Encoding|`,
			gzipped(`{"id":1,"name":"Rex","categoryId":7}`),
			"Vary is not in the document",
		},
		{"a compressed list's head", "HEAD /v1/pets", 200, packed, "", ""},
		{"a head with a weak tag", "HEAD /v1/pets", 200, strings.Replace(found, `"x"`, `W/"x"`, 1), "", `Vary ""`},
		{
			"a compressed list, not modified",
			"GET /v1/pets",
			304,
			strings.Replace(packed, "Content-Encoding: gzip|", "", 1),
			"",
			"",
		},
		{"not modified, compressed", "GET /v1/pets", 304, packed, "", "not compressed"},
		{
			"not modified, with a weak tag",
			"GET /v1/pets",
			304,
			strings.Replace(found, `"x"`, `W/"x"`, 1),
			"",
			`Vary ""`,
		},
		{"an animal not modified, with a weak tag", "GET /v1/pets/1", 304, deprecated + `ETag: W/"x"|`, "", `Vary ""`},
		{"a list's head", "HEAD /v1/pets", 200, found, "", ""},
		{"not modified", "GET /v1/pets", 304, found, "", ""},
		{"a body that must not be", "HEAD /v1/pets", 200, found, "[]", "there is a body"},
		{"an unnamed status", "GET /v1/pets", 202, found, `[]`, "listPets has no status 202"},
		{
			"an unnamed header",
			"GET /v1/pets",
			200,
			found + "X-Powered-By: x",
			`[]`,
			"header X-Powered-By is not in the document",
		},
		{
			"a missing header",
			"GET /v1/pets",
			200,
			strings.Replace(found, "X-RateLimit-Reset", "X-RateLimit-Res", 1),
			`[]`,
			"X-RateLimit-Reset is missing",
		},
		{"no integer", "GET /v1/pets", 200, strings.Replace(found, "59|", "5.5|", 1), `[]`, "X-RateLimit-Remaining"},
		{"no number", "GET /v1/pets", 200, strings.Replace(found, "59|", "many|", 1), `[]`, "X-RateLimit-Remaining"},
		{"a header twice", "GET /v1/pets", 200, found + "X-RateLimit-Limit: 1|", `[]`, "more than once"},
		{
			"another form of header",
			"GET /v1/pets",
			200,
			strings.Replace(found, `ETag: "x"`, `ETag: x`, 1),
			`[]`,
			"ETag",
		},
		{"another body", "GET /v1/pets", 200, found, `{"pets":[]}`, "want array"},
		{
			"another status of a pet",
			"GET /v1/pets",
			200,
			found,
			`[{"id":1,"name":"Rex","categoryId":7,"status":"gone"}]`,
			"status",
		},
		{
			"an id too large",
			"GET /v1/pets",
			200,
			found,
			`[{"id":9223372036854775808,"name":"Rex","categoryId":7}]`,
			"more than 64 bits",
		},
		{"no JSON", "GET /v1/pets", 200, found, `[`, "body ["},
		{
			"another type",
			"GET /v1/pets",
			200,
			strings.Replace(found, "application/json", "text/html", 1),
			`[]`,
			"text/html",
		},
		{"a limit too large", "GET /v1/pets?limit=101", 200, found, `[]`, "does not allow the request"},
		{"an error", "GET /v1/pets", 400, refused, `{"code":"invalid_cursor","message":"no","status":400}`, ""},
		{
			"an error without help",
			"GET /v1/pets",
			400,
			always,
			`{"code":"invalid_cursor","message":"no","status":400}`,
			"Link is missing",
		},
		{"another code", "GET /v1/pets", 400, refused, `{"code":"invalid_json","message":"no","status":400}`, "code"},
		{
			"another status in the body",
			"GET /v1/pets",
			400,
			refused,
			`{"code":"invalid_cursor","message":"no","status":401}`,
			"status",
		},
		{
			"a fourth member",
			"GET /v1/pets",
			400,
			refused,
			`{"code":"invalid_cursor","message":"no","status":400,"more":1}`,
			"more",
		},
		{
			"no challenge",
			"GET /v1/pets",
			401,
			refused,
			`{"code":"missing_api_key","message":"no","status":401}`,
			"WWW-Authenticate is missing",
		},
		{"deprecated", "GET /v1/pets/1", 200, deprecated + `ETag: "x"|`, `{"id":1,"name":"Rex","categoryId":7}`, ""},
		{
			"deprecated in secret",
			"GET /v1/pets/1",
			404,
			refused,
			`{"code":"pet_not_found","message":"no","status":404}`,
			`Sunset is ""`,
		},
		{"beta", "GET /v1/store/orders", 200, beta + `ETag: "x"|Link: x|`, `[]`, ""},
		{
			"beta in secret",
			"GET /v1/store/orders",
			401,
			refused + "WWW-Authenticate: x|",
			`{"code":"missing_api_key","message":"no","status":401}`,
			`X-Stability is "", want "beta"`,
		},
		{
			"stable, it says beta",
			"GET /v1/pets",
			400,
			beta,
			`{"code":"invalid_cursor","message":"no","status":400}`,
			`X-Stability is "beta"`,
		},
		{
			"no such method",
			"DELETE /v1/pets",
			405,
			refused + "Allow: GET, HEAD, OPTIONS, POST|",
			`{"code":"method_not_allowed","message":"no","status":405}`,
			"",
		},
		{
			"another Allow",
			"DELETE /v1/pets",
			405,
			refused + "Allow: GET|",
			`{"code":"method_not_allowed","message":"no","status":405}`,
			`Allow is "GET", want`,
		},
		{"a method of its own", "DELETE /v1/pets", 204, found, "", "Allow is"},
		{
			"a method not found",
			"DELETE /v1/pets",
			404,
			refused,
			`{"code":"route_not_found","message":"no","status":404}`,
			"where the document has 2 operations",
		},
		{"no such path", "GET /v1/dogs", 404, refused, `{"code":"route_not_found","message":"no","status":404}`, ""},
		{"a path of its own", "GET /v1/dogs", 200, found, `[]`, "where the document has 0 operations"},
		{
			"another code for no path",
			"GET /v1/dogs",
			404,
			refused,
			`{"code":"pet_not_found","message":"no","status":404}`,
			"code",
		},
		{"options", "OPTIONS /v1/pets/1", 204, always + "Allow: GET, HEAD, OPTIONS, PATCH|", "", ""},
		{"a page", "GET /docs", 200, "Content-Type: text/html|", "<html>", ""},
		{"a page that is none", "GET /nothing", 404, "", "", "is missing"},
		{"the page for that", "GET /docs/nothing", 404, "Content-Type: text/html; charset=utf-8|", "<html>", ""},
		{
			"the page elsewhere",
			"GET /v1/nothing",
			404,
			"Content-Type: text/html; charset=utf-8|",
			"<html>",
			"is missing",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := document(t).Check(exchange(t, tt.request, tt.status, tt.headers, tt.body))
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestEncodingsOfWhatWasSeen: the memory of good bodies is of their content alone.
func TestEncodingsOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(
		`{"id":1,"name":"Rex","categoryId":7,"status":"available"},`,
		99,
	) + `{"id":2,"name":"Rex","categoryId":7,"status":"sold"}]`
	for _, tt := range []struct{ headers, accepted, body, want string }{
		{found, "", body, ""},
		{packed, "", gzipped(body), ""},
		{packed, "br, gzip;q=0.5", gzipped(body), ""},
		{found + "Vary: Accept-Encoding|", "br", body, ""},
		{found + "Content-Encoding: br|", "", body, `the Content-Encoding is "br"`},
		{found, "", gzipped(body), "body"},
		{strings.Replace(found, `"x"`, `W/"x"`, 1) + "Vary: Accept-Encoding|", "", body, "not compressed, with"},
		{found + "Vary: Origin|", "", body, `Vary is "Origin"`},
		{packed, "br", gzipped(body), "nobody asked"},
		{found + "Vary: Accept-Encoding|", "gzip", body, "although the client asked"},
	} {
		x := exchange(t, "GET /v1/pets", 200, tt.headers, tt.body)
		if tt.accepted != "" {
			x.Request.Header.Set("Accept-Encoding", tt.accepted)
		}
		if err := document(t).Check(
			x,
		); (err != nil) != (tt.want != "") ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q accepted, %s: got %v, want %q", tt.accepted, tt.headers[len(always):], err, tt.want)
		}
	}
}

// TestUncompressed: a body that the client's transport has decompressed came with the weak tag.
func TestUncompressed(t *testing.T) {
	t.Parallel()
	came := strings.Replace(packed, "Content-Encoding: gzip|", "", 1)
	for headers, want := range map[string]string{came: "", strings.Replace(came, "W/", "", 1): `ETag "\"x\""`,
		strings.Replace(came, "Vary: Accept-Encoding|", "", 1): `Vary ""`} {
		x := exchange(t, "GET /v1/pets", 200, headers, `[]`)
		x.Uncompressed = true
		if err := document(t).Check(
			x,
		); (err != nil) != (want != "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func gzipped(s string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// exchange is a request without a body and its response, whose headers end with "|" each.
func exchange(t testing.TB, request string, status int, headers, body string) contract.Exchange {
	method, target, _ := strings.Cut(request, " ")
	x := contract.Exchange{
		Request: httptest.NewRequestWithContext(t.Context(), method, target, nil),
		Status:  status,
		Header:  http.Header{},
		Body:    []byte(body),
	}
	for line := range strings.SplitSeq(strings.Trim(headers, "|"), "|") {
		if name, value, _ := strings.Cut(line, ": "); name != "" {
			x.Header.Add(name, value)
		}
	}
	return x
}

// TestWatching: both ways to watch report what breaks the contract, and pass everything on as it
// is.
func TestWatching(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported []string
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err.Error())
	}
	wrong := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Echo", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(body)
	})
	s := httptest.NewServer(document(t).Handler(wrong, report))
	defer s.Close()
	client := http.Client{Transport: document(t).Transport(s.Client().Transport, report)}
	res, err := client.Post(s.URL+"/v1/pets", "text/plain", strings.NewReader("something"))
	assert.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "something" || res.StatusCode != http.StatusTeapot ||
		res.Header.Get("X-Echo") != "yes" {
		t.Errorf("%d %q %v", res.StatusCode, body, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reported) != 2 || !strings.Contains(reported[0], "createPet has no status 418: something") ||
		reported[0] != reported[1] {
		t.Errorf("%q", reported)
	}
}

func TestCheckEvent(t *testing.T) {
	t.Parallel()
	const event = `{"type":"month.closed","timestamp":"2026-11-20T09:21:48Z","data":{"month":"2026-10"`
	for body, good := range map[string]bool{
		event + `,"sha256":"06b4"}}`:          true,
		event + `}}`:                          false,
		event + `,"sha256":7}}`:               false,
		event + `,"sha256":"06b4","year":1}}`: false,
	} {
		err := document(t).CheckEvent("month.closed", []byte(body))
		assert.Equal(t, err == nil, good, body, err)
		assert.True(t, document(t).CheckEvent("month.opened", []byte(body)) != nil, "another type")
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "openapi: 3.1.0", "]",
		"openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths: {/pets: {get: {}}}"} {
		if _, err := contract.Load([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
