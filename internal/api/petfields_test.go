package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
)

// describedPets returns two animals that have all members which the document lets clients change,
// and the query parameters of their list, each with a value that only the first animal has, and one
// that only the second has.
func describedPets(t *testing.T) (first, second map[string]any, params map[string][2]string) {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(openAPIText)
	assert.NoError(t, err)
	first, second, params = map[string]any{}, map[string]any{}, map[string][2]string{}
	for name, p := range spec.Components.Schemas["PetChange"].Value.Properties {
		values := slices.Concat(p.Value.Examples, p.Value.Enum)
		if len(values) == 0 {
			t.Fatalf("the member %s of PetChange has no example in openapi.yaml", name)
		}
		switch v := values[0].(type) {
		case string:
			if first[name], second[name] = v, "not "+v; len(values) > 1 {
				second[name] = values[1]
			}
		case float64:
			first[name], second[name] = v, v+1
		default:
			t.Fatalf("%s has the example %T", name, v)
		}
	}
	wrote, read := slices.Sorted(maps.Keys(first)), slices.Sorted(
		maps.Keys(spec.Components.Schemas["Pet"].Value.Properties),
	)
	asked := slices.Sorted(maps.Keys(spec.Components.Schemas["NewPet"].Value.Properties))
	if diff := cmp.Diff(
		wrote,
		asked,
	) + cmp.Diff(
		wrote,
		slices.DeleteFunc(read, func(n string) bool { return n == "id" }),
	); diff != "" {
		t.Errorf("members in the document, of PetChange and of NewPet or Pet:\n%s", diff)
	}
	for _, p := range spec.Paths.Find("/pets").Get.Parameters {
		if p.Value.In != "query" {
			continue
		}
		params[p.Value.Name] = [2]string{fmt.Sprint(first[p.Value.Name]), fmt.Sprint(second[p.Value.Name])}
	}
	params["ids"] = [2]string{"1", "2"}
	return first, second, params
}

func petOf(t *testing.T, rec *httptest.ResponseRecorder) (pet map[string]any) {
	t.Helper()
	assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &pet), rec.Body)
	delete(pet, "id")
	return pet
}

func bodyOf(t *testing.T, members map[string]any) string {
	t.Helper()
	text, err := json.Marshal(members)
	assert.NoError(t, err)
	return string(text)
}

// TestEachMemberIsWritten: POST and PATCH write each member that the document has, and nothing else
// is in the response.
func TestEachMemberIsWritten(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	want, other, _ := describedPets(t)
	assert.DeepEqual(t, petOf(t, w.do(w.request("POST", "/v1/pets", bodyOf(t, want)))), want, "POST -sent +created")
	for name, value := range other {
		want[name] = value
		got := petOf(t, w.do(w.request("PATCH", "/v1/pets/1", bodyOf(t, map[string]any{name: value}))))
		assert.DeepEqual(t, got, want, "PATCH of", name)
		want = got
	}
	assert.DeepEqual(t, petOf(t, w.do(w.request("GET", "/v1/pets/1", ""))), want, "GET")
}

// TestEachFilterSelects: each query parameter of the document is known, selects, and is in the key
// of the page cache and in links.
func TestEachFilterSelects(t *testing.T) {
	t.Parallel()
	w, _, reads := newCachingFixture(t)
	first, second, params := describedPets(t)
	for _, pet := range []map[string]any{first, second} {
		if rec := w.do(w.request("POST", "/v1/pets", bodyOf(t, pet))); rec.Code != 201 {
			t.Fatal(rec.Body)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(params)), slices.Sorted(slices.Values(petListParams))); diff != "" {
		t.Errorf("query parameters (-document +server):\n%s", diff)
	}
	for range 2 {
		w.list(t, "")
	}
	for name, values := range params {
		if name == "limit" || name == "cursor" {
			continue
		}
		for i, value := range values {
			reads()
			query := "?" + name + "=" + url.QueryEscape(value)
			rec := w.list(t, query)
			w.list(t, query) // now it is in the cache
			assert.True(t, reads() != 0, name+"="+value, "is not in the key of the page cache")
			assert.Contains(t, header(rec, "Link"), name+"="+url.QueryEscape(value), name, "is not in the link")
			var got []map[string]any
			if err := json.Unmarshal(
				rec.Body.Bytes(),
				&got,
			); err != nil || len(got) != 1 ||
				got[0]["id"] != float64(i+1) {
				t.Errorf("%s=%s selects %s, %v", name, value, rec.Body, err)
			}
		}
	}
}
