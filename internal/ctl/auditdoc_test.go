package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// TestDocumentedVerifier runs the Python program of docs/audit.md on an export: it agrees with
// audit verify, and finds faults.
func TestDocumentedVerifier(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/audit.md")
	assert.NoError(t, err)
	m := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/audit.md has no program")
	}
	d := docRun{url: storetest.New(t).URL}
	addServer(t, d.url, "live")
	for _, command := range []string{
		`petstorectl tenant create acme --plan pro --reason "Zoë's order \ <17> 犬"`,
		"petstorectl plan assign acme free",
		"petstorectl key issue acme --name ci --per-minute 5 --expires 1h", "petstorectl tenant suspend acme --yes",
	} {
		d.run(t, command)
	}
	var state struct{ Checkpoint string }
	assert.NoError(t, json.Unmarshal([]byte(d.run(t, "petstorectl audit verify -o json")), &state))
	export := d.run(t, "petstorectl audit list --oldest-first -o jsonl")
	missing := regexp.MustCompile(`(?m)^\{"number":3,.*\n`).ReplaceAllString(export, "")
	for _, test := range []struct{ name, export, want string }{
		{"intact", export, state.Checkpoint},
		{"changed", strings.Replace(export, "order", "0rder", 1), "entry 1 was changed"},
		{"changed number in a record", strings.Replace(export, `"per_minute":5,`, `"per_minute":6,`, 1),
			"entry 3 was changed"},
		{"missing", missing, "entry 4 does not follow entry 2"},
	} {
		cmd := sandbox.Command(t, "python3", "-c", string(m[1]))
		cmd.Stdin = strings.NewReader(test.export)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Fatalf("%v: install it with tools/install.sh python3, as make test does", err)
		}
		assert.Equal(t, string(bytes.TrimSpace(out)), test.want, test.name, "printed")
	}
}
