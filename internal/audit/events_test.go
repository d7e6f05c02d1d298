package audit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/audit"
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
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`\| action \| its undo \|\n(?:\|.*\n)*`)
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(docFile, table.ReplaceAllLiteral(page, []byte(want)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(table.Find(page))); diff != "" {
		t.Errorf("%s (-events +page); UPDATE_DOCS=1 writes it:\n%s", docFile, diff)
	}
}
