package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// TestNamesAreTheDocuments: the document allows exactly the names of animals that the server takes.
// The patterns of ECMA-262 and Go call different characters white space.
func TestNamesAreTheDocuments(t *testing.T) {
	t.Parallel()
	d := theDocument(t)
	c, err := newCompiler(d.raw)
	assert.NoError(t, err)
	schema, err := c.schema([]string{"components", "schemas", "PetName"})
	assert.NoError(t, err)
	names := []string{
		"",
		"Rex",
		" Rex",
		"a\x00b",
		"\u0085\ufeff",
		strings.Repeat("ä", 255),
		strings.Repeat("ä", 256),
		strings.Repeat(" ", 254) + "x",
	}
	for r := range rune(0x10000) {
		if r < 0xd800 || r > 0xdfff {
			names = append(names, string(r))
		}
	}
	for _, name := range names {
		if named, taken := schema.Validate(name) == nil, catalog.CheckName(name) == nil; named != taken {
			t.Errorf("the document allows %+.10q: %t, the server: %t", name, named, taken)
		}
	}
}

// TestTextsOfKeysAreTheDocuments: so it is with the names of keys, and with reasons.
func TestTextsOfKeysAreTheDocuments(t *testing.T) {
	t.Parallel()
	d := theDocument(t)
	c, err := newCompiler(d.raw)
	assert.NoError(t, err)
	schema, err := c.schema([]string{"components", "schemas", "NewKey", "properties", "name"})
	assert.NoError(t, err)
	texts := []string{"", "a\u200d", "\u0915\u200d\u0915", "\u0915\u200d\u200d", "  ", "\u2800", "\u0915\u200d",
		" \u0915\u200d ", "a\U0001F468\u200D\U0001F469"}
	for _, n := range []int{99, 100, 101} {
		texts = append(texts, strings.Repeat("ä", n))
	}
	for r := range rune(0x10000) {
		if r < 0xd800 || r > 0xdfff {
			texts = append(texts, string(r), "a"+string(r))
		}
	}
	for _, text := range texts {
		if named, taken := schema.Validate(text) == nil, keys.TextProblem(text, 100) == ""; named != taken {
			t.Errorf("the document allows %+.10q: %t, the server: %t", text, named, taken)
		}
	}
}

// TestExamplesShowEveryCode: what a schema of errors names is shown by a response that has it, and
// the other way round. Check holds the server to the examples.
func TestExamplesShowEveryCode(t *testing.T) {
	t.Parallel()
	d := theDocument(t)
	named, shown := map[string]bool{}, map[string]bool{}
	for name, schema := range members(members(d.raw, "components"), "schemas") {
		codes, _ := members(members(schema.(map[string]any), "properties"), "code")["x-extensible-enum"].([]any)
		for _, code := range codes {
			named[fmt.Sprint(name, " ", code)] = true
		}
	}
	for _, response := range members(members(d.raw, "components"), "responses") {
		content := members(members(response.(map[string]any), "content"), "application/json")
		ref, _ := members(content, "schema")["$ref"].(string)
		for _, example := range members(content, "examples") {
			code := members(example.(map[string]any), "value")["code"]
			shown[fmt.Sprint(strings.TrimPrefix(ref, "#/components/schemas/"), " ", code)] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(shown))); diff != "" {
		t.Errorf("(-schemas +examples):\n%s", diff)
	}
}

// TestGeneratorsReadTheDocument: what generators of clients misread is not there. A schema without
// a type becomes any type, or none; a member of a request with a default becomes a required one;
// ogen knows null in oneOf only; a code or status that is new must be no error in clients of today,
// so lists of values are closed in requests only.
func TestGeneratorsReadTheDocument(t *testing.T) {
	t.Parallel()
	d, err := load(documentText(t), true)
	assert.NoError(t, err)
	root := d.raw
	inRequests := map[string]bool{}
	for _, item := range members(root, "paths") {
		visit(item, func(o map[string]any) {
			if body := members(o, "requestBody"); body != nil {
				collect(root, body, inRequests)
			}
			parameters, _ := o["parameters"].([]any)
			for _, p := range parameters {
				collect(root, p, inRequests)
			}
		})
	}
	for name, schema := range members(members(root, "components"), "schemas") {
		in := inRequests["#/components/schemas/"+name]
		visit(schema, func(o map[string]any) {
			for _, problem := range misread(o, in) {
				t.Errorf("schema %s: %s: %v", name, problem, o)
			}
		})
	}
	check := func(what string, schema map[string]any) {
		visit(schema, func(o map[string]any) {
			for _, problem := range misread(o, false) {
				t.Errorf("%s: %s: %v", what, problem, o)
			}
		})
	}
	for name, header := range members(members(root, "components"), "headers") {
		check("header "+name, members(header.(map[string]any), "schema"))
	}
	visit(root, func(o map[string]any) {
		for _, response := range members(o, "responses") {
			for _, content := range members(response.(map[string]any), "content") {
				check("response", members(content.(map[string]any), "schema"))
			}
		}
	})
}

// misread returns what is wrong with a schema.
func misread(schema map[string]any, inRequest bool) (problems []string) {
	_, enum := schema["enum"]
	_, isConst := schema["const"]
	_, isText := schema["type"].(string)
	_, hasType := schema["type"]
	_, byDefault := schema["default"]
	switch {
	case (enum || isConst) && !isText:
		problems = append(problems, "a list of values, or one value, without a type")
	case hasType && !isText && members(schema, "type") == nil:
		problems = append(problems, "a list of types")
	case enum && !inRequest:
		problems = append(problems, "a closed list of values in a response")
	case byDefault && inRequest:
		problems = append(problems, "a default in a request")
	}
	return problems
}

// collect notes the references in a tree, and those in what they refer to.
func collect(root map[string]any, node any, found map[string]bool) {
	visit(node, func(o map[string]any) {
		ref, ok := o["$ref"].(string)
		if !ok || found[ref] {
			return
		}
		found[ref] = true
		c := compiler{raw: root}
		if object, _, err := c.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")); err == nil {
			collect(root, object, found)
		}
	})
}

// TestPublished: what proxies do to responses breaks no promise of the document, only of our own
// server.
func TestPublished(t *testing.T) {
	t.Parallel()
	published, err := LoadPublished(documentText(t))
	assert.NoError(t, err)
	own := theDocument(t)
	const page, refused = `[{"id":1,"name":"Rex","categoryId":7,"status":"available"}]`,
		`{"code":"%s","message":"no","status":400}`
	for _, tt := range []struct {
		name           string
		status         int
		change, to     string // a header
		body           string
		wantPublished  string // part of the error, "" for none
		wantFromServer string
	}{
		{"as it is sent", 200, "", "", page, "", ""},
		{"a weak tag", 200, "Etag", `W/"x"`, page, "", "ETag"},
		{"no tag", 200, "Etag", "", page, "", "ETag is missing"},
		{"no tag at all", 200, "Etag", "x", page, "ETag", "ETag"},
		{"the proxy's own Cache-Control", 200, "Cache-Control", "max-age=0", page, "", "Cache-Control"},
		{"no Cache-Control", 200, "Cache-Control", "", page, "", "Cache-Control is missing"},
		{"the proxy's own CORS", 200, "Access-Control-Allow-Origin", "https://x.example", page, "",
			"Access-Control-Allow-Origin"},
		{"the proxy's name", 200, "Via", "1.1 Caddy", page, "", "Via is not in the document"},
		{"no limit", 200, "X-Ratelimit-Limit", "", page, "X-RateLimit-Limit is missing",
			"X-RateLimit-Limit is missing"},
		{"a status of an animal that is new", 200, "", "", `[{"id":1,"name":"Rex","categoryId":7,"status":"asleep"}]`,
			"", "status"},
		{"an error", 400, "", "", fmt.Sprintf(refused, "invalid_cursor"), "", ""},
		{"a code that is new", 400, "", "", fmt.Sprintf(refused, "invalid_moon"), "", "code"},
		{"a code of another operation", 400, "", "", fmt.Sprintf(refused, "invalid_json"), "", "no example"},
		{"another status in the body", 400, "", "", `{"code":"invalid_cursor","message":"no","status":404}`, "status",
			"status"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := Exchange{
				Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/pets", nil),
				Status:  tt.status,
				Header:  fromServer(tt.status),
				Body:    []byte(tt.body),
			}
			switch {
			case tt.change != "" && tt.to == "":
				x.Header.Del(tt.change)
			case tt.change != "":
				x.Header.Set(tt.change, tt.to)
			}
			for d, want := range map[*Document]string{published: tt.wantPublished, own: tt.wantFromServer} {
				err := d.Check(x)
				if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("published %t: got %v, want %q", d.published, err, want)
				}
			}
		})
	}
}

// fromServer are the headers of a response of GET /v1/pets as our server sends it.
func fromServer(status int) http.Header {
	h := http.Header{}
	for name, value := range map[string]string{
		"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1795166568",
		"RateLimit-Policy": `"minute";q=60;w=60`,
		"RateLimit":        `"minute";r=59;t=60`, "X-Request-Id": "x", "Cache-Control": "no-store",
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "Link", "Content-Type": "application/json",
	} {
		h.Set(name, value)
	}
	if status == http.StatusOK {
		h.Set("ETag", `"x"`)
		h.Set("Link", `<x>; rel="first"`)
	} else {
		h.Set("Link", `<https://api.example.com/docs/errors#x>; rel="help"`)
	}
	return h
}

// TestPromisesAreOfTheDocument: what replaces nothing, and what is added to what the document has,
// is an error.
func TestPromisesAreOfTheDocument(t *testing.T) {
	t.Parallel()
	text := string(documentText(t))
	for change, want := range map[[2]string]string{
		{"\n    ETag:\n", "\n    Etag:\n"}:                 "headers ETag is replaced",
		{"\n    ETag:\n", "\n    Allow:\n"}:                "headers",
		{"\n    Pet:\n", "\n    MethodNotAllowedError:\n"}: "schemas MethodNotAllowedError is added",
	} {
		raw, err := rawOf([]byte(strings.Replace(text, change[0], change[1], 1)))
		assert.NoError(t, err)
		own, err := rawOf(promises)
		assert.NoError(t, err)
		if err := overlay(raw, own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", change, err, want)
		}
	}
}

// theDocument loads the API's document.
func theDocument(t *testing.T) *Document {
	t.Helper()
	d, err := Load(documentText(t))
	assert.NoError(t, err)
	return d
}

func documentText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.yaml")
	assert.NoError(t, err)
	return text
}
