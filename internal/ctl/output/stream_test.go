package output

import (
	"strings"
	"testing"
)

// TestStreamPrintsAsList: a list that is printed one by one has the same bytes.
func TestStreamPrintsAsList(t *testing.T) {
	t.Parallel()
	type item struct {
		name  string
		count int64
	}
	v := View[item]{
		{Name: "name", Value: func(i item) any { return i.name }, InList: true},
		{Name: "count", Value: func(i item) any { return i.count }, InList: true},
	}
	for _, items := range [][]item{nil, {{"=a", 1}}, {{"a\"<b>", 1}, {"", -2}, {"c\nd", 3}}} {
		for _, format := range []string{"", "json", "csv", "table"} {
			var list, streamed strings.Builder
			if format != "table" || len(items) > 0 {
				if err := List(Printer{Out: &list, Format: format}, v, items); err != nil {
					t.Fatal(err)
				}
			}
			stream(t, Printer{Out: &streamed, Format: format}, v, items)
			if streamed.String() != list.String() {
				t.Errorf("%q of %d: %q, a list is %q", format, len(items), streamed.String(), list.String())
			}
		}
	}
	var lines strings.Builder
	stream(t, Printer{Out: &lines, Format: "jsonl"}, v, []item{{"a", 1}, {"", 2}})
	if want := `{"name":"a","count":1}` + "\n" + `{"name":null,"count":2}` + "\n"; lines.String() != want {
		t.Errorf("jsonl: %q, want %q", lines.String(), want)
	}
}

func stream[T any](t *testing.T, p Printer, v View[T], items []T) {
	t.Helper()
	s, err := NewStream(p, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		if err := s.Add(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
