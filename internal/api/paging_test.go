package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

var nextLink = regexp.MustCompile(`^<https://api\.example\.com(/v1/pets[^>]*)>; rel="next", <`)

// TestWalk follows the links from the first page to the last, while animals are added behind.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var want, got []int64
	add := func(status catalog.Status) {
		if id := w.addPet(t, status); status == catalog.Sold {
			want = append(want, id)
		}
	}
	for i := range 30 {
		add([]catalog.Status{catalog.Sold, catalog.Available, catalog.Pending}[i%3])
	}
	target := "/v1/pets?status=sold&limit=4&api_key=pst_live_a%20b%3E"
	for pages := 0; target != ""; pages++ {
		rec := w.do(w.request("GET", target, ""))
		var pets []catalog.Pet
		if err := json.Unmarshal(rec.Body.Bytes(), &pets); err != nil || pages > 5 {
			t.Fatalf("page %d: %v %s", pages, err, rec.Body)
		}
		for _, p := range pets {
			got = append(got, p.ID)
		}
		if pages == 1 {
			add(catalog.Sold)
		}
		target = next(t, header(rec, "Link"), header(rec, "X-Next-Cursor"))
	}
	assert.DeepEqual(t, got, want)
}

// next returns the target of the link to the next page and checks that it agrees with
// X-Next-Cursor.
func next(t *testing.T, link, cursor string) string {
	t.Helper()
	const first = `<https://api.example.com/v1/pets?limit=4&status=sold>; rel="first"`
	if link == first && cursor == "" {
		return ""
	}
	want := fmt.Sprintf(
		`<https://api.example.com/v1/pets?cursor=%s&limit=4&status=sold>; rel="next", %s`,
		cursor,
		first,
	)
	if link != want {
		t.Fatalf("Link %s, want %s", link, want)
	}
	return nextLink.FindStringSubmatch(link)[1]
}

func TestPageSizes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 150 {
		w.addPet(t, catalog.Available)
	}
	for query, want := range map[string]int{
		"": 20, "?": 20, "?limit=1": 1, "?limit=100": 100, "?status=sold": 0, "?x=1&x=2": 20,
		"?cursor=0000000000000090&limit=100": 6, "?cursor=0000000000000096": 0,
		"?cursor=0000000000000000&limit=100": 100, "?cursor=7fffffffffffffff": 0, "?cursor=ffffffffffffffff": 0,
	} {
		rec := w.do(w.request("GET", "/v1/pets"+query, ""))
		var pets []catalog.Pet
		if err := json.Unmarshal(rec.Body.Bytes(), &pets); err != nil || len(pets) != want || pets == nil {
			t.Errorf("%s: %d animals, want %d: %v", query, len(pets), want, err)
		}
		if more := header(rec, "X-Next-Cursor") != ""; more != (want > 0 && want != 6) {
			t.Errorf("%s: next page %v", query, more)
		}
	}
}

// TestTenantsNeverMeet: to another tenant, what acme has is not found, is absent from lists, and
// stays as it is.
func TestTenantsNeverMeet(t *testing.T) {
	t.Parallel()
	for _, r := range routesOf(routes) {
		w := newFixture(t)
		req := w.goodRequest(t, r)
		req.Header.Set("Authorization", "Bearer "+w.other)
		w.directory.change(t, w.other, func(c *keys.Caller) { c.Access, _ = keys.NewAccess(keys.ScopeManage, "") })
		w.usage.last = [][2]int64{{1, 1}}
		w.do(w.request("GET", "/v1/pets", ""))
		pets, orders, own := slices.Clone(w.pets.pets[1]), slices.Clone(
			w.orders.orders[1],
		), slices.Clone(w.keys.keys[1])
		rec := w.do(req)
		want, body := 404, ""
		switch r.method + " " + r.path {
		case "GET /v1/pets", "GET /v1/store/orders", "GET /v1/requests":
			want, body = 200, "[]\n"
		case "GET /v1/usage":
			want = 200
			if u := readUsage(t, rec); u.Tenant != "zoo" || u.Windows.Minute.Used != 0 || u.Month.Admitted != 0 {
				t.Errorf("zoo sees the usage of acme: %+v", u)
			}
		case "GET /v1/plans": // everybody's
			want = 200
		case "POST /v1/pets", "POST /v1/keys", "POST /v1/webhooks":
			want = 201
		case "GET /v1/webhooks":
			want = 200
			if !strings.HasPrefix(rec.Body.String(), `[{"id":2,`) {
				t.Errorf("zoo sees %s", rec.Body)
			}
		case "GET /v1/keys":
			want = 200
			if strings.Contains(rec.Body.String(), ciKey) || !strings.Contains(rec.Body.String(), theirKey) {
				t.Errorf("zoo sees %s", rec.Body)
			}
		}
		if rec.Code != want || body != "" && rec.Body.String() != body {
			t.Errorf("%s %s: %d %s, want %d %s", r.method, r.path, rec.Code, rec.Body, want, body)
		}
		if diff := cmp.Diff(
			pets,
			w.pets.pets[1],
		) + cmp.Diff(
			orders,
			w.orders.orders[1],
		) + cmp.Diff(
			own,
			w.keys.keys[1],
		); diff != "" {
			t.Errorf("%s %s: %s", r.method, r.path, diff)
		}
	}
}

func TestBaseURLWithPrefix(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.BaseURL = "http://localhost:8080/shop/v1" })
	for _, c := range []struct{ target, body, location string }{
		{"/v1/pets", rex, "http://localhost:8080/shop/v1/pets/1"},
		{"/v1/store/orders", `{"petId":1}`, "http://localhost:8080/shop/v1/store/orders/1"},
	} {
		assert.Equal(t, header(w.do(w.request("POST", c.target, c.body)), "Location"), c.location, "Location")
	}
	rec := w.do(w.request("GET", "/v1/pets/1", ""))
	const want = `</shop/docs/deprecations/get-pet>; rel="deprecation"; type="text/html", ` +
		`</shop/docs/deprecations/get-pet>; rel="sunset"; type="text/html", ` +
		`</shop/v1/pets?status=available>; rel="successor-version"`
	assert.Equal(t, header(rec, "Link"), want, "Link")
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "/v1", "api.example.com/v1", "ftp://x/v1", "https://x", "https://x/v1/",
		"https://x/v1?a", "https://u:p@x/v1", "https://\x00/v1"} {
		if _, err := parseBaseURL(s); err == nil {
			t.Errorf("base URL %q accepted", s)
		}
		if u, err := url.Parse(s); err == nil && u.User != nil {
			if _, err := parseBaseURL(s); err != nil && regexp.MustCompile("u:p|p@").MatchString(err.Error()) {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration accepted")
	}
}

// TestTagKnowsWhatFollows: behind a full last page comes an animal. The body stays, but there is a
// next page now.
func TestTagKnowsWhatFollows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	last := w.do(w.request("GET", "/v1/pets?limit=1", ""))
	w.addPet(t, catalog.Available)
	rec := w.do(w.request("GET", "/v1/pets?limit=1", "", "If-None-Match", header(last, "ETag")))
	if rec.Code != 200 || rec.Body.String() != last.Body.String() || header(rec, "X-Next-Cursor") == "" {
		t.Errorf("%d %v %s", rec.Code, rec.Result().Header, rec.Body)
	}
}
