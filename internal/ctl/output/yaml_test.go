package output

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/sandbox"
)

// yamlTexts are those that readers of YAML take for something else, or can't read, without quotes.
var yamlTexts = []string{
	"", " ", "plain", "two words", "key_9Xb2LmQ0tR7sVw1Z", "jo@support-3", "a: b", "a #b", "#", "- a", "-", "?", "!tag", "&anchor", "*alias",
	"true", "Yes", "no", "ON", "y", "N", "null", "~", "Null", "NaN", ".nan", ".inf", "-.Inf", "1e3", "1_000", "0x1F", "0o17", "017", "12:30:45", "1.5",
	"=", "<<", "2026-11-20", "2026-11-20T10:30:00Z", "@at", "`tick`", "%percent", "'single'", "\"double\"", "back\\slash", "trailing ", " leading",
	"two\nlines", "end\n", "tab\there", "\r\n", "\x00\x1b[31m\x7f", "\u0085\u00a0\u2028\ufeff", "é 日本 👩\u200d💻", "[a]", "{a: b}", "a,b", "|", ">", "---", "...",
}

func yamlSample(t *testing.T) []byte {
	t.Helper()
	sample := map[string]any{
		"texts": yamlTexts, "empty": map[string]any{}, "none": []any{}, "nil": nil, "yes": true, "no": false,
		"numbers": []any{0, -1, json.Number("9007199254740993"), json.Number("1.5"), json.Number("1e3"), json.Number("12345678901234567890")},
		"nested":  []any{[]any{[]any{}, []any{1, []any{2}}}, map[string]any{"a": []any{map[string]any{"b": map[string]any{"c: d": nil}}}}},
	}
	members := map[string]any{}
	for _, text := range yamlTexts {
		members[text] = text
	}
	sample["members"] = members
	text, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestYAMLIsRead: each reader takes the YAML for the values that were written.
func TestYAMLIsRead(t *testing.T) {
	t.Parallel()
	in := yamlSample(t)
	text, err := yamlOf(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("goccy", func(t *testing.T) {
		t.Parallel()
		var read any
		if err := yaml.Unmarshal([]byte(text), &read); err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		back, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, in, back)
	})
	t.Run("PyYAML", func(t *testing.T) {
		t.Parallel()
		script := "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
		sameJSON(t, in, readWith(t, text, pythonWithYAML(t), "-c", script))
	})
	t.Run("js-yaml", func(t *testing.T) {
		t.Parallel()
		script := "const yaml = require('" + jsYAML(t) + "'); console.log(JSON.stringify(yaml.load(require('fs').readFileSync(0, 'utf8'))))"
		sameJSON(t, in, readWith(t, text, "node", "-e", script))
	})
}

// pythonWithYAML is where tools/install.sh looks too: Debian's package is for Debian's Python, which may not be the first in PATH.
func pythonWithYAML(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if sandbox.Command(t, python, "-c", "import yaml").Run() == nil {
			return python
		}
	}
	t.Fatal("PyYAML is not installed: install it with tools/install.sh python3-yaml, as make test does")
	return ""
}

func jsYAML(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../tools/npm/node_modules/js-yaml")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: install it with npm ci --prefix tools/npm, as make test does", err)
	}
	return path
}

func readWith(t *testing.T, text, program string, args ...string) []byte {
	t.Helper()
	cmd := sandbox.Command(t, program, args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
	back, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	return back
}

// sameJSON compares values; numbers are those of float64, as JavaScript has them.
func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var wanted, read any
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if diff := cmp.Diff(wanted, read); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	const in = `[{"name":"acme","per_minute":300,"at":"2026-11-20T10:30:00Z","next":null,"rows":[{"a":1,"b":[]},{"a":2,"b":["x","1e3"]}]},{}]`
	const want = `- name: acme
  per_minute: 300
  at: "2026-11-20T10:30:00Z"
  next: null
  rows:
    - a: 1
      b: []
    - a: 2
      b:
        - x
        - "1e3"
- {}
`
	if got, err := yamlOf([]byte(in)); err != nil || got != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}
