package output

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFit: columns of text are cut to their MinWidth, then further, and IDs never below theirs.
func TestFit(t *testing.T) {
	t.Parallel()
	type item struct{ id, name, reason string }
	view := View[item]{
		{Name: "id", Value: func(i item) any { return i.id }, InList: true, MinWidth: IDWidth},
		{Name: "name", Value: func(i item) any { return i.name }, InList: true, MinWidth: TextWidth},
		{Name: "reason", Value: func(i item) any { return i.reason }, InList: true, MinWidth: TextWidth},
	}
	one := item{"key_9Xb2LmQ0tR7sVw1Z", "a name of some length", "a reason of some length"}
	for width, want := range map[int]string{
		80: "key_9Xb2LmQ0tR7sVw1Z  a name of some length  a reason of some length",
		40: "key_9Xb2LmQ0tR7sVw1Z  a name …  a reaso…",
		36: "key_9Xb2LmQ0tR7sVw1Z  a nam…  a rea…",
		32: "key_9Xb2LmQ0tR7sVw1Z  a n…  a r…",
		10: "key_9Xb2LmQ0tR7sVw1Z  a n…  a r…",
	} {
		var out strings.Builder
		if err := Table(Printer{Out: &out, TTY: true, Width: width}, view, []item{one}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := lines[len(lines)-1]; got != want || utf8.RuneCountInString(got) > max(width, 32) {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
