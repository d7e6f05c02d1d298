package api

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
)

// endless is a fixture in which nobody comes to a limit.
func endless(f *testing.F) *fixture {
	w := newFixture(f, func(c *Config) { c.Log = zerolog.Nop() })
	w.addresses.limit = math.MaxInt64
	w.setPlan(f, plans.Enterprise, noLimit)
	return w
}

// FuzzBody: any body is answered, and one that is accepted means what encoding/json takes it for.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"", "null", "[]", `{"name":"Rex","categoryId":7}`, `{"name":"Rex","categoryId":1.0e3,"status":"sold"}`, `{"name":null}`,
		`{"name":"\ud83d\udc15","categoryId":-0,"x":{"y":[1,{}]}}`, `{"a":1,"a":2}`, "\xff", `{"name":"a\u0000","categoryId":1e999}`,
	} {
		f.Add([]byte(s))
	}
	w := endless(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		w.pets.pets[1] = nil
		r := w.request("POST", "/v1/pets", string(body), "Content-Type", "application/json")
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if rec.Code != 201 && rec.Code != 400 && rec.Code != 413 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		if rec.Code != 201 {
			return
		}
		var given map[string]json.RawMessage
		var name string
		if json.Unmarshal(body, &given) != nil || json.Unmarshal(given["name"], &name) != nil || !utf8.Valid(body) {
			t.Fatal("accepted what is no JSON")
		}
		got := w.pets.pets[1][0]
		category, err := strconv.ParseInt(string(given["categoryId"]), 10, 64)
		if catalog.CheckName(got.Name) != nil || got.Name != name || err == nil && got.CategoryID != category {
			t.Fatalf("stored %+v", got)
		}
	})
}

// FuzzHeaders: whatever the headers and the query are, the answer is whole and no fault of ours.
func FuzzHeaders(f *testing.F) {
	f.Add("GET", "Bearer x", "id", "application/json", "1.2.3.4", "limit=5&status=sold", `"x", W/"y`, "respond-async", "k")
	f.Add("POST", "bearer  pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm", "a b", "text/plain; charset", "::1, x", "%zz;", "*", "handling=strict;", `"k"`)
	f.Add("OPTIONS", "", "", "", "", "cursor=0000000000000001&>\"=\r\n", "", "", "")
	f.Add("X", "Basic", "pst_test_", "application/json;charset=utf-8;x", ",", "a=b&limit=+5", `"`, "handling=\"", strings.Repeat("k", 256))
	f.Add("GET", "", "", "", "", "ids=1,2,1&name=R%25%5F&categoryId=-9223372036854775808", `W/"x"`, "", "")
	w := endless(f)
	f.Fuzz(func(t *testing.T, method, authorization, id, contentType, forwarded, query, tags, prefer, key string) {
		_, ours := parseListQuery(query, petListParams)
		if _, standard := url.ParseQuery(query); (ours == nil) != (standard == nil) {
			t.Fatalf("query %q: %v, but to url.ParseQuery %v", query, ours, standard)
		}
		for _, credential := range []string{authorization, "Bearer " + w.key} {
			r := w.request("GET", "/v1/pets", "{}")
			r.Method, r.URL.RawQuery = method, query
			r.Header = http.Header{
				"Authorization": {credential}, "X-Request-Id": {id}, "Content-Type": {contentType}, "X-Forwarded-For": {forwarded},
				"Content-Encoding": {forwarded}, "If-None-Match": {tags}, "If-Match": {tags}, "Prefer": {prefer}, "Idempotency-Key": {key},
				"Origin": {forwarded}, "Access-Control-Request-Method": {method},
			}
			rec := w.do(r)
			checkAnswer(t, r, rec)
			if rec.Code >= 500 {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			for name, values := range rec.Result().Header {
				if strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
					t.Fatalf("%s: %q", name, values)
				}
			}
		}
	})
}
