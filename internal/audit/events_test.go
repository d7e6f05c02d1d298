package audit_test

import (
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/audit"
	"petstore.example/internal/test/sandbox"
)

// TestEventsAreThoseOfThePage compares the events with the table of the document. With UPDATE_DOCS
// it writes the table.
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
	sandbox.Page(t, docFile, regexp.MustCompile(`\| action \| its undo \|\n(?:\|.*\n)*`), want)
}
