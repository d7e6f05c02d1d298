package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// TestItemTags: every response with one animal or order has the same tag for the same content, and
// a list with it alone too.
func TestItemTags(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ask := func(method, target, body string) *httptest.ResponseRecorder {
		t.Helper()
		rec := w.do(w.request(method, target, body))
		if rec.Code/100 != 2 || header(rec, "ETag") == "" {
			t.Fatalf("%s %s: %d %s, ETag %s", method, target, rec.Code, rec.Body, header(rec, "ETag"))
		}
		return rec
	}
	tag := func(method, target, body string) string {
		t.Helper()
		return header(ask(method, target, body), "ETag")
	}
	for _, steps := range [][]string{
		{"POST /v1/pets " + rex, "GET /v1/pets/1", "GET /v1/pets", "GET /v1/pets?ids=1&limit=1",
			"GET /v1/pets?name=R", `PATCH /v1/pets/1 {"name":"Rex"}`, "HEAD /v1/pets/1"},
		{`POST /v1/store/orders {"petId":1}`, "GET /v1/store/orders/1", "GET /v1/store/orders",
			`PATCH /v1/store/orders/1 {"status":"placed"}`},
		{`PATCH /v1/store/orders/1 {"status":"approved"}`, "HEAD /v1/store/orders/1",
			"GET /v1/store/orders?status=approved"},
	} {
		want := ""
		for _, s := range steps {
			part := strings.SplitN(s+" ", " ", 3)
			if got := tag(part[0], part[1], strings.TrimSpace(part[2])); want != "" && got != want {
				t.Errorf("%s: ETag %s, want %s", s, got, want)
			} else {
				want = got
			}
		}
	}
	one := tag("GET", "/v1/pets/1", "")
	w.create(t, "Mia")
	for target, same := range map[string]bool{
		"/v1/pets?ids=1": true, "/v1/pets?ids=1,99": true, "/v1/pets?cursor=0000000000000000&name=Rex": true,
		"/v1/pets": false, "/v1/pets?limit=1": false, "/v1/pets?ids=2": false, "/v1/pets?ids=99": false,
		"/v1/pets/2": false,
	} {
		if got := tag("GET", target, ""); (got == one) != same {
			t.Errorf("%s: ETag %s, that of the animal is %s", target, got, one)
		}
	}
}

// TestIfMatch: a change is made if If-Match names what there is, and only then.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addOrder(t, 1)
	for _, target := range []string{"/v1/pets/1", "/v1/store/orders/1"} {
		good := `{"name":"Max"}`
		if strings.Contains(target, "orders") {
			good = `{"status":"placed"}`
		}
		for i, c := range []struct {
			match  func(tag string) []string
			status int
			says   string
		}{
			{func(tag string) []string { return []string{tag} }, 200, ""},
			{func(string) []string { return []string{"*"} }, 200, ""},
			{func(tag string) []string { return []string{`"x", W/"y"`, `"z",` + tag} }, 200, ""},
			{func(tag string) []string { return []string{"W/" + tag + ", " + tag} }, 200, ""},
			{func(tag string) []string { return []string{"W/" + tag} }, 412, "without W/"},
			{func(tag string) []string { return []string{strings.Trim(tag, `"`)} }, 412, "double quotes"},
			{func(string) []string { return []string{""} }, 412, "double quotes"},
			{func(string) []string { return []string{`"x"`} }, 412, "has changed"},
			{func(string) []string { return []string{`W/"x"`} }, 412, "has changed"},
		} {
			name := fmt.Sprintf("%s %d", target, i)
			r := w.request("PATCH", target, good)
			r.Header["If-Match"] = c.match(header(w.do(w.request("GET", target, "")), "ETag"))
			rec := w.do(r)
			checkAnswer(t, r, rec)
			if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.says) {
				t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
			}
			if c.status == 412 && header(rec, "ETag") != "" {
				t.Errorf("%s: the error has the ETag %s", name, header(rec, "ETag"))
			}
		}
	}
	// A stale tag changes nothing, whatever it would change, and the tag that another change left
	// does.
	before := header(w.do(w.request("GET", "/v1/pets/1", "")), "ETag")
	w.do(w.request("PATCH", "/v1/pets/1", `{"categoryId":8}`))
	for _, body := range []string{`{"name":"Lost"}`, `{"status":"sold"}`, `{}`} {
		rec := w.do(w.request("PATCH", "/v1/pets/1", body, "If-Match", before))
		assert.Equal(t, rec.Code, 412, body, rec.Body)
	}
	if pet := w.pets.find(1, 1); pet.Name != "Max" || pet.CategoryID != 8 || pet.Status != catalog.Pending {
		t.Errorf("changed to %+v", pet)
	}
}

// TestFilters: what the filters let through, and what they say of a bad value. Links keep them, in
// one spelling.
func TestFilters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i, name := range []string{"Rex", "Mia", "Re%x", "rex", "Réx"} {
		pet := catalog.NewPet{Name: name, CategoryID: int64(i % 2), Status: catalog.Available}
		_, err := w.pets.CreatePet(t.Context(), 1, pet)
		assert.NoError(t, err)
	}
	for query, want := range map[string]string{
		"ids=5,1,5": "1 5", "ids=5&ids=1&ids=5": "1 5", "ids=2,4&name=R&ids=3": "3", "ids=9": "",
		"ids=1%2C2&categoryId=1": "2", "name=Re": "1 3", "name=Re%25": "3", "name=R%C3%A9": "5",
		"name=R&categoryId=0&ids=3,4": "3",
		"categoryId=1":                "2 4", "categoryId=-9223372036854775808": "", "status=sold&name=R": "",
		"ids=2,4&cursor=0000000000000002": "4",
	} {
		rec := w.do(w.request("GET", "/v1/pets?"+query, ""))
		var ids []string
		for _, part := range strings.Split(rec.Body.String(), `"id":`)[1:] {
			id, _, _ := strings.Cut(part, ",")
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); rec.Code != 200 || got != want {
			t.Errorf("%s: %d %q, want %q: %s", query, rec.Code, got, want, rec.Body)
		}
	}
	rec := w.do(w.request("GET", "/v1/pets?name=R+%26&x=1&ids=5,1,03&limit=2", ""))
	if rec.Code != 400 ||
		!strings.Contains(rec.Body.String(), "ids must be 1 to 100 64-bit integers separated by commas") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = w.do(w.request("GET", "/v1/pets?x=1&name=R&ids=5,1,3,1&limit=2&categoryId=0", ""))
	link := `<https://api.example.com/v1/pets?cursor=0000000000000003&limit=2&categoryId=0&name=R&ids=1,3,5>; ` +
		`rel="next", ` +
		`<https://api.example.com/v1/pets?limit=2&categoryId=0&name=R&ids=1,3,5>; rel="first"`
	assert.Equal(t, header(rec, "Link"), link, "Link")
	for _, query := range []string{
		"ids=", "ids=1,", "ids=,1", "ids=+1", "ids=01", "ids=1.0", "ids=x", "ids=9223372036854775808", "ids=1&ids=",
		"ids=1,2&ids=x", "ids=1%20,2",
		"ids=" + strings.Repeat("1,", 100) + "1", strings.Repeat("ids=1&", 101), "categoryId=", "categoryId=1.0",
		"categoryId=%2B1", "categoryId=1,2",
		"name=", "name=a&name=b", "name=a%00", "name=%ff", "name=" + strings.Repeat("%C3%A9", 256),
	} {
		rec := w.do(w.request("GET", "/v1/pets?"+query, ""))
		param, _, _ := strings.Cut(query, "=")
		if rec.Code != 400 || !strings.Contains(rec.Body.String(), `"invalid_parameter","message":"`+param+" must be") {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
		if rec := w.do(w.request("GET", "/v1/store/orders?"+query, "")); rec.Code != 200 {
			t.Errorf("orders, %s: %d %s", query, rec.Code, rec.Body)
		}
	}
	if rec := w.do(
		w.request("GET", "/v1/pets?name="+strings.Repeat("%C3%A9", 100)+"&ids="+strings.Repeat("1,", 99)+"1", ""),
	); rec.Code != 200 {
		t.Errorf("at the bounds: %d %s", rec.Code, rec.Body)
	}
}
