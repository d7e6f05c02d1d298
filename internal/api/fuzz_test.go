package api

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
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
		"", "null", "[]", `{"name":"Rex","categoryId":7}`, `{"name":"Rex","categoryId":1.0e3,"status":"sold"}`,
		`{"name":null}`,
		`{"name":"\ud83d\udc15","categoryId":-0,"x":{"y":[1,{}]}}`, `{"a":1,"a":2}`, "\xff",
		`{"name":"a\u0000","categoryId":1e999}`,
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
	f.Add(
		"GET",
		"Bearer x",
		"id",
		"application/json",
		"1.2.3.4",
		"limit=5&status=sold",
		`"x", W/"y`,
		"respond-async",
		"k",
	)
	f.Add(
		"POST",
		"bearer  pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm",
		"a b",
		"text/plain; charset",
		"::1, x",
		"%zz;",
		"*",
		"handling=strict;",
		`"k"`,
	)
	f.Add("OPTIONS", "", "", "", "", "cursor=0000000000000001&>\"=\r\n", "", "", "")
	f.Add(
		"X",
		"Basic",
		"pst_test_",
		"application/json;charset=utf-8;x",
		",",
		"a=b&limit=+5",
		`"`,
		"handling=\"",
		strings.Repeat("k", 256),
	)
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
				"Authorization": {
					credential,
				},
				"X-Request-Id":    {id},
				"Content-Type":    {contentType},
				"X-Forwarded-For": {forwarded},
				"Content-Encoding": {
					forwarded,
				},
				"If-None-Match":                 {tags},
				"If-Match":                      {tags},
				"Prefer":                        {prefer},
				"Idempotency-Key":               {key},
				"Origin":                        {forwarded},
				"Access-Control-Request-Method": {method},
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

// FuzzSelfService: whatever is sent to the operations by which customers help themselves, the
// answer is no fault of ours, and as the document has it.
func FuzzSelfService(f *testing.F) {
	f.Add(uint8(0), "self", "status=active&limit=1&cursor=key_acme", "", "", "", "")
	f.Add(
		uint8(1),
		"",
		"x",
		`{"name":"ci","scope":"read","perMinute":5,"allowedAddresses":["192.0.2.0/24"],`+
			`"expiresAt":"2027-01-01T00:00:00+19:51"}`,
		"",
		"",
		"k",
	)
	f.Add(
		uint8(3),
		"key_acme",
		"",
		`{"name":null,"scope":"write","confirmLockout":true,"allowedAddresses":null}`,
		`"x"`,
		"handling=strict",
		"",
	)
	f.Add(uint8(4), "key_0000000000000000", "", `{"gracePeriod":604800}`, "*", "", "k")
	f.Add(uint8(5), "%2F", "", `{"reason":"\u0000","x":null}`, "", "", strings.Repeat("k", 256))
	f.Add(
		uint8(6),
		"",
		"since=0000-01-01T00:00:00-19:51&until=9999-12-31T23:59:60Z"+
			"&key=key_a&status=429&code=key_banned&cursor=00000000000000ff",
		"",
		"",
		"",
		"",
	)
	f.Add(uint8(7), "dc4b7dhksdudc20kom6g", "a=b", "", "", "", "")
	w := endless(f)
	w.narrow(f, keys.ScopeManage, "")
	ours := slices.DeleteFunc(routesOf(routes), func(r route) bool {
		return !strings.HasPrefix(r.path, "/v1/keys") && !strings.HasPrefix(r.path, "/v1/requests") ||
			!slices.Contains([]string{"GET", "POST", "PATCH"}, r.method)
	})
	requests := 0
	f.Fuzz(func(t *testing.T, of uint8, id, query, body, tags, prefer, key string) {
		requests++
		w.setClock(at.Add(time.Duration(requests) * time.Minute)) // No minute has more changes than it may.
		o := ours[int(of)%len(ours)]
		r := w.request(o.method, "/v1/keys", body, "If-Match", tags, "Prefer", prefer, "Idempotency-Key", key)
		path := func(id string) string { return strings.NewReplacer("{keyId}", id, "{requestId}", id).Replace(o.path) }
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = path(id), path(url.PathEscape(id)), query
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if rec.Code >= 500 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	})
}
