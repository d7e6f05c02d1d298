package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"petstore.example/client"
)

// catalogue pages through so many animals or orders, as the API does. fails answers a request
// itself, if it wants to.
type catalogue struct {
	items int
	link  bool // says where the next page is in Link only
	fails func(request int, w http.ResponseWriter) bool

	queries []string
}

func (s *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.queries = append(s.queries, r.URL.RawQuery)
	if s.fails != nil && s.fails(len(s.queries), w) {
		return
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("cursor"), 16, 64)
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	var items []string
	for id := int(after) + 1; id <= s.items && len(items) < limit; id++ {
		items = append(items, fmt.Sprintf(`{"id":%d}`, id))
	}
	if last := int(after) + len(items); last < s.items {
		next := fmt.Sprintf("%016x", last)
		if s.link {
			w.Header().Set(
				"Link",
				`<https://elsewhere.example/v1/pets?cursor=`+next+
					`&limit=2>; rel="next", <https://elsewhere.example/v1/pets?limit=2>; rel="first"`,
			)
		} else {
			w.Header().Set("X-Next-Cursor", next)
		}
	}
	fmt.Fprintf(w, "[%s]", strings.Join(items, ","))
}

func (s *catalogue) store(t *testing.T) *client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := (&service{url: server.URL + "/v1"}).store(t)
	return c
}

// walk collects ids until the end, or until enough says so.
func walk(t *testing.T, c *client.Client, params client.ListPetsParams, enough int) (ids []int64, failed error) {
	t.Helper()
	for pet, err := range c.Pets(t.Context(), params) {
		if err != nil {
			if failed != nil || pet != (client.Pet{}) {
				t.Errorf("then %v, %v", pet, err)
			}
			failed = err
			continue
		}
		ids = append(ids, pet.ID)
		if len(ids) == enough {
			break
		}
	}
	return ids, failed
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		catalogue catalogue
		params    client.ListPetsParams
		enough    int
		ids       []int64
		queries   []string
		want      error
	}{
		"nothing": {queries: []string{"limit=100"}},
		"one page": {
			catalogue: catalogue{items: 3}, ids: []int64{1, 2, 3},
			queries: []string{"limit=100"},
		},
		"pages": {
			catalogue: catalogue{items: 5},
			params:    client.ListPetsParams{Limit: 2, Status: client.PetSold, IfNoneMatch: `"none"`},
			ids:       []int64{1, 2, 3, 4, 5},
			queries: []string{
				"limit=2&status=sold", "cursor=0000000000000002&limit=2&status=sold",
				"cursor=0000000000000004&limit=2&status=sold",
			},
		},
		"a last page that is full": {
			catalogue: catalogue{items: 4}, params: client.ListPetsParams{Limit: 2}, ids: []int64{1, 2, 3, 4},
			queries: []string{"limit=2", "cursor=0000000000000002&limit=2"},
		},
		"from the middle": {
			catalogue: catalogue{items: 5}, params: client.ListPetsParams{Limit: 2, Cursor: "0000000000000003"},
			ids:     []int64{4, 5},
			queries: []string{"cursor=0000000000000003&limit=2"},
		},
		"by Link": {
			catalogue: catalogue{items: 3, link: true}, params: client.ListPetsParams{Limit: 2}, ids: []int64{1, 2, 3},
			queries: []string{"limit=2", "cursor=0000000000000002&limit=2"},
		},
		"enough in the middle of a page": {
			catalogue: catalogue{items: 9}, params: client.ListPetsParams{Limit: 2}, enough: 3, ids: []int64{1, 2, 3},
			queries: []string{"limit=2", "cursor=0000000000000002&limit=2"},
		},
		"enough at the end of a page": {
			catalogue: catalogue{items: 9}, params: client.ListPetsParams{Limit: 2}, enough: 2, ids: []int64{1, 2},
			queries: []string{"limit=2"},
		},
		"a failure: what came before is yielded, then the error": {
			catalogue: catalogue{items: 9, fails: func(request int, w http.ResponseWriter) bool {
				if request == 3 {
					failure(500, client.CodeInternalError)(w, nil)
				}
				return request == 3
			}},
			params: client.ListPetsParams{Limit: 2}, ids: []int64{1, 2, 3, 4}, want: client.CodeInternalError,
			queries: []string{"limit=2", "cursor=0000000000000002&limit=2", "cursor=0000000000000004&limit=2"},
		},
		"a page that has to be asked for twice": {
			catalogue: catalogue{items: 3, fails: func(request int, w http.ResponseWriter) bool {
				if request == 2 {
					answer(503, "", "Retry-After", "1")(w, nil)
				}
				return request == 2
			}},
			params: client.ListPetsParams{Limit: 2}, ids: []int64{1, 2, 3},
			queries: []string{"limit=2", "cursor=0000000000000002&limit=2", "cursor=0000000000000002&limit=2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, err := walk(t, test.catalogue.store(t), test.params, test.enough)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if diff := diff(test.ids, ids); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if diff := diff(test.queries, test.catalogue.queries); diff != "" {
				t.Errorf("queries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWalkRoundInCircles: a list that leads back to the same page ends in an error.
func TestWalkRoundInCircles(t *testing.T) {
	t.Parallel()
	same := answer(200, `[{"id":1}]`, "X-Next-Cursor", "0000000000000001")
	store := newService(t, same, same, same).store(t)
	ids, err := walk(t, store, client.ListPetsParams{}, 0)
	if err == nil || len(ids) != 2 {
		t.Errorf("%v, %v", ids, err)
	}
}

// TestWalkTwice: an iterator can be ranged over again, from the beginning.
func TestWalkTwice(t *testing.T) {
	t.Parallel()
	s := catalogue{items: 3}
	all := s.store(t).Orders(t.Context(), client.ListOrdersParams{Limit: 2, Status: client.OrderPlaced})
	for range 2 {
		var ids []int64
		for o, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, o.ID)
		}
		if diff := diff([]int64{1, 2, 3}, ids); diff != "" {
			t.Errorf("ids (-want +got):\n%s", diff)
		}
	}
	want := []string{"limit=2&status=placed", "cursor=0000000000000002&limit=2&status=placed"}
	if diff := diff(append(want, want...), s.queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestWalkOrdersFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := catalogue{items: 3}
	n := 0
	for _, err := range s.store(t).Orders(ctx, client.ListOrdersParams{}) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	if n != 1 || len(s.queries) != 0 {
		t.Errorf("%d yields, %d requests", n, len(s.queries))
	}
}

// TestLinks reads the forms of RFC 8288.
func TestLinks(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`<https://h/v1/pets?cursor=a>; rel="next"`:                                "a",
		`<https://h/v1/pets?cursor=a>;rel=next`:                                   "a",
		`</v1/pets?x=1&cursor=a>; title="a, b; c"; REL="last next"`:               "a",
		`<?cursor=b>; rel="first", <?cursor=a>; type="x"; rel="next"`:             "a",
		`<?cursor=b>; title="; rel=next"; rel="first"`:                            "",
		`<?cursor=b>; rel="nextish"`:                                              "",
		`<?cursor=b>; rel="first"`:                                                "",
		`<https://h/v1/pets?limit=1>; rel="next"`:                                 "",
		`<://%zz>; rel="next"`:                                                    "",
		`rubbish`:                                                                 "",
		`<?cursor=b`:                                                              "",
		`</docs/x>; rel="deprecation"; type="text/html", <?cursor=a>; rel="next"`: "a",
	} {
		store := newService(t, answer(200, "[]", "Link", header)).store(t)
		page, err := store.ListPets(t.Context(), client.ListPetsParams{})
		if err != nil {
			t.Fatal(err)
		}
		if page.NextCursor != want {
			t.Errorf("%s leads to %q, not %q", header, page.NextCursor, want)
		}
	}
	two := newService(t, answer(200, "[]", "Link", `<?cursor=b>; rel="first"`, "Link", `<?cursor=a>; rel="next"`))
	store := two.store(t)
	if page, err := store.ListPets(t.Context(), client.ListPetsParams{}); err != nil || page.NextCursor != "a" {
		t.Errorf("two headers: %v, %v", page, err)
	}
}
