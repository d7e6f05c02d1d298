package goclient_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"petstore.example/client"
)

// TestTheClientIsComplete: it has a code for each that the API's document names, with the same
// status, and a method for each operation that needs a key.
func TestTheClientIsComplete(t *testing.T) {
	t.Parallel()
	// The second file has the responses to what is no operation.
	documents := []any{
		document(t, "../../api/openapi.yaml"),
		document(t, "../contract/promises.yaml"),
	}
	documented, operations := map[string]string{}, 0
	visit(documents, func(object map[string]any) {
		for _, code := range enumOf(object["code"]) {
			if _, ok := documented[code]; !ok {
				documented[code] = ""
			}
		}
		if code, ok := object["code"].(string); ok {
			if status, ok := object["status"].(uint64); ok {
				documented[code] = strconv.FormatUint(status, 10)
			}
		}
		id, ok := object["operationId"].(string)
		if security, _ := object["security"].([]any); !ok || security != nil && len(security) == 0 {
			return // Nobody needs a client for what describes the API.
		}
		operations++
		if _, ok := reflect.TypeFor[*client.Client]().MethodByName(strings.ToUpper(id[:1]) + id[1:]); !ok {
			t.Errorf("no method for %s", id)
		}
	})
	if operations == 0 {
		t.Error("the document names no operation")
	}
	if diff := cmp.Diff(documented, namedCodes(t)); diff != "" {
		t.Errorf("codes (-document +client):\n%s", diff)
	}
}

// TestPetsAreTheDocuments: animals have the members that the document names, and their list its
// query parameters.
func TestPetsAreTheDocuments(t *testing.T) {
	t.Parallel()
	var sent url.Values
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.URL.Query()
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(service.Close)
	store, err := client.New(service.URL+"/v1", key)
	if err != nil {
		t.Fatal(err)
	}
	var params client.ListPetsParams
	fill(reflect.ValueOf(&params).Elem())
	if _, err := store.ListPets(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	d := document(t, "../../api/openapi.yaml")
	for _, p := range at(d, "paths", "/pets", "get", "parameters").([]any) {
		if ref, ok := at(p, "$ref").(string); ok {
			p = at(d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		if at(p, "in") == "query" {
			named[at(p, "name").(string)] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(sent))); diff != "" {
		t.Errorf("query parameters (-document +client):\n%s", diff)
	}
	for name, v := range map[string]any{"Pet": client.Pet{}, "NewPet": client.NewPet{},
		"PetChange": client.PetPatch{}} {
		var members []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, member)
		}
		slices.Sort(members)
		if diff := cmp.Diff(
			slices.Sorted(maps.Keys(at(d, "components", "schemas", name, "properties").(map[string]any))),
			members,
		); diff != "" {
			t.Errorf("members of %s (-document +client):\n%s", name, diff)
		}
	}
}

// fill gives each field a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.String:
		v.SetString("x")
	default:
		v.SetInt(1)
	}
}

// at returns what a document has at a path of names, nil if nothing.
func at(v any, path ...string) any {
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v
}

func document(t *testing.T, file string) (document any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// namedCodes returns the codes of errors.go, each with the status that its comment begins with.
func namedCodes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../clients/go/errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		named[code], _, _ = strings.Cut(strings.TrimSpace(spec.Comment.Text()), ":")
		return true
	})
	return named
}

// visit calls f with each object in v.
func visit(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, inner := range v {
			visit(inner, f)
		}
	case []any:
		for _, inner := range v {
			visit(inner, f)
		}
	}
}

// enumOf returns the strings that a schema names.
func enumOf(schema any) (values []string) {
	object, _ := schema.(map[string]any)
	list, _ := object["x-extensible-enum"].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			values = append(values, s)
		}
	}
	return values
}
