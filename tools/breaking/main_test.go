package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare changes the released document in ways that the rules allow or forbid.
func TestCompare(t *testing.T) {
	t.Parallel()
	const dir = "../../internal/api/released"
	released, err := last(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, old, new string
		refused        string // part of the reason; empty for an allowed change
	}{
		{"nothing", "", "", ""},
		{"another description", "summary: List animals", "summary: List all animals", ""},
		{
			"a new operation",
			"paths:\n",
			"paths:\n  /dogs:\n    get:\n      operationId: listDogs\n      responses:\n        '200': { " +
				"description: Dogs. }\n",
			"",
		},
		{
			"a new error code",
			"enum: [missing_api_key, invalid_api_key]",
			"enum: [missing_api_key, invalid_api_key, key_asleep]",
			"",
		},
		{
			"a removed error code",
			"              value: { code: invalid_cursor,",
			"              value: { code: invalid_parameter,",
			"status 400 lost the code invalid_cursor",
		},
		{"a removed operation", "  /pets/{petId}:\n", "  /dogs/{petId}:\n", "api-path-removed"},
		{"a renamed parameter", "      name: limit\n", "      name: size\n", "request-parameter-removed"},
		{"a tighter limit", "maximum: 100, default: 20", "maximum: 50, default: 20", "request-parameter-max-decreased"},
		{"another default", "maximum: 100, default: 20", "maximum: 100, default: 50", "default-value"},
		{
			"a new required member",
			"required: [name, categoryId]\n      properties:\n        name:",
			"required: [name, categoryId, status]\n      properties:\n        name:",
			"request-property-became-required",
		},
		{
			"another type",
			"          type: integer\n          format: int64\n          description: The identifier, assigned when " +
				"the animal",
			"          type: string\n          description: The identifier, assigned when the animal",
			"type-changed",
		},
		{"an earlier removal", "x-sunset: '2030-12-05'", "x-sunset: '2029-12-05'", "sunset"},
		{"a removal without notice", "x-sunset: '2030-12-05'", "x-sunset-date: '2030-12-05'", "sunset"},
		{"less stability", "x-stability-level: beta", "x-stability-level: alpha", "stability"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(string(text), tt.old, tt.new, 1)
			if tt.old != "" && changed == string(text) {
				t.Fatal("the document has no such text")
			}
			file := filepath.Join(t.TempDir(), "openapi.yaml")
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			err := compare(released, file, nil)
			if (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v, want %q", err, tt.refused)
			}
		})
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := last(dir); err == nil {
		t.Error("an empty directory is accepted")
	}
	for _, name := range []string{"1.9.0.yaml", "1.10.0.yaml", "notes.md", "exceptions.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := last(dir); err != nil || filepath.Base(found) != "1.10.0.yaml" {
		t.Errorf("%s, %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "latest.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := last(dir); err == nil {
		t.Error("a name that is no version is taken")
	}
}

// TestExceptions: an exception allows what it matches and nothing else, and one that is of no use
// is refused.
func TestExceptions(t *testing.T) {
	t.Parallel()
	findings := []string{"GET /pets: x [a]", "GET /pets: y [b]"}
	for _, tt := range []struct {
		text, refused, unused string
	}{
		{"exceptions: []", "GET /pets: x [a]|GET /pets: y [b]", ""},
		{`exceptions: [{finding: '.* \[a\]', reason: r}]`, "GET /pets: y [b]", ""},
		{`exceptions: [{finding: '.*', reason: r}]`, "", ""},
		{`exceptions: [{finding: 'GET /pets', reason: r}]`, "GET /pets: x [a]|GET /pets: y [b]", "GET /pets"},
	} {
		exceptions, err := parseExceptions("x", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		refused, unused := allow(findings, exceptions)
		var names []string
		for _, e := range unused {
			names = append(names, e.Finding)
		}
		if got := strings.Join(refused, "|"); got != tt.refused || strings.Join(names, "|") != tt.unused {
			t.Errorf("%s: refused %q, unused %q", tt.text, got, names)
		}
	}
	for _, text := range []string{"exceptions: [{finding: x}]", "exceptions: [{finding: '(', reason: r}]",
		"exceptions: [{find: x, reason: r}]", "]"} {
		if _, err := parseExceptions("x", []byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
