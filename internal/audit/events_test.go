package audit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/audit"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

// TestEventsAreThoseOfThePage compares the events with the table of the document. With UPDATE_DOCS it writes the table.
func TestEventsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	want := "| action | its undo |\n|---|---|\n"
	for i, e := range audit.Events {
		if (e.Undo == "") == (e.Final == "") {
			t.Errorf("%s has an undo %q, and none because %q", e.Action, e.Undo, e.Final)
		}
		text := e.Undo
		if text == "" {
			text = "none: " + e.Final
		}
		if i > 0 && e.Undo != "" && audit.Events[i-1].Undo == e.Undo {
			row := strings.LastIndex(want, " | ")
			want = want[:row] + ", `" + e.Action + "`" + want[row:]
			continue
		}
		want += "| `" + e.Action + "` | " + text + " |\n"
	}
	page, err := os.ReadFile(docFile)
	assert.NoError(t, err)
	table := regexp.MustCompile(`\| action \| its undo \|\n(?:\|.*\n)*`)
	if os.Getenv("UPDATE_DOCS") != "" {
		assert.NoError(t, os.WriteFile(docFile, table.ReplaceAllLiteral(page, []byte(want)), 0o644))
		return
	}
	assert.DeepEqual(t, string(table.Find(page)), want, docFile, "-events +page; UPDATE_DOCS=1 writes it")
}
