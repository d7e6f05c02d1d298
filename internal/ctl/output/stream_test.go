package output

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestStreamPrintsAsList: a list that is printed one by one has the same bytes.
func TestStreamPrintsAsList(t *testing.T) {
	t.Parallel()
	v := namedView.Show("count")
	for _, items := range [][]named{nil, {{"=a", 1}}, {{"a\"<b>", 1}, {"", -2}, {"c\nd", 3}}} {
		for _, format := range []string{"", "json", "csv", "table"} {
			var list, streamed strings.Builder
			if format != "table" || len(items) > 0 {
				assert.NoError(t, List(Printer{Out: &list, Format: format}, v, items))
			}
			stream(t, Printer{Out: &streamed, Format: format}, v, items)
			assert.Equal(t, streamed.String(), list.String(), format, "of", len(items))
		}
	}
}

type named struct {
	name  string
	count int64
}

var namedView = View[named]{
	{Name: "name", Value: func(n named) any { return n.name }, InList: true},
	{Name: "count", Value: func(n named) any { return n.count }},
}

// TestFormats: a list in each format, with chosen columns and a filter.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format, filter string
		columns        []string
		want           string
	}{
		{format: "", want: "a\nb c\n"},
		{format: "", columns: []string{"count", "name"}, want: "1\ta\n9007199254740993\tb c\n"},
		{format: "table", columns: []string{"count"}, want: "           COUNT\n               1\n9007199254740993\n"},
		{format: "csv", columns: []string{"count"}, want: "count\n1\n9007199254740993\n"},
		{format: "json", columns: []string{"name"},
			want: "[\n  {\n    \"name\": \"a\"\n  },\n  {\n    \"name\": \"b c\"\n  }\n]\n"},
		{format: "jsonl", want: `{"name":"a","count":1}` + "\n" + `{"name":"b c","count":9007199254740993}` + "\n"},
		{format: "json", filter: ".[].name", want: "a\nb c\n"},
		{format: "json", filter: "length, .[1]", want: "2\n" + `{"count":9007199254740993,"name":"b c"}` + "\n"},
		{format: "jsonl", filter: "select(.count > 1) | .count", want: "9007199254740993\n"},
		{format: "jsonl", filter: "keys", columns: []string{"name"}, want: `["name"]` + "\n" + `["name"]` + "\n"},
		{format: "json", filter: `.[] | halt`, want: ""},
	} {
		var out strings.Builder
		p := Printer{Out: &out, Format: test.format, Columns: test.columns}
		if test.filter != "" {
			p.Filter = mustFilter(t, test.filter)
		}
		stream(t, p, namedView, []named{{"a", 1}, {"b c", 1<<53 + 1}})
		assert.Equal(t, out.String(), test.want, test.format, test.columns, test.filter)
	}
}

func mustFilter(t *testing.T, expression string) *Filter {
	t.Helper()
	f, err := ParseFilter(expression, t.Context)
	assert.NoError(t, err)
	return f
}

func TestNoItems(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"": "", "json": "[]\n", "jsonl": "", "csv": "name,count\n",
		"table": ""} {
		var out strings.Builder
		stream(t, Printer{Out: &out, Format: format}, namedView, nil)
		assert.Equal(t, out.String(), want, format)
	}
	var out strings.Builder
	stream(t, Printer{Out: &out, Format: "json", Filter: mustFilter(t, "length")}, namedView, nil)
	assert.Equal(t, out.String(), "0\n", "the length of an empty list")
}

func TestUnknownColumn(t *testing.T) {
	t.Parallel()
	want := ColumnError{"nam", []string{"name", "count"}}
	p := Printer{Out: io.Discard, Format: "json", Columns: []string{"name", "nam"}}
	for what, err := range map[string]error{
		"list": List(p, namedView, nil), "item": Item(p, namedView, named{}), "rows": Rows(p, namedView, nil),
		"table": Table(p, namedView, nil),
	} {
		if got := (ColumnError{}); !errors.As(err, &got) || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}

// TestFilterEnds: an expression without an end ends with its context, and one that fails says so.
func TestFilterEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless, err := ParseFilter("last(repeat(1))", func() context.Context { return ctx })
	assert.NoError(t, err)
	err = Item(Printer{Out: io.Discard, Format: "json", Filter: endless}, namedView, named{})
	assert.ErrorIs(t, err, context.Canceled)
	err = Item(
		Printer{Out: io.Discard, Format: "json", Filter: mustFilter(t, ".name.first")},
		namedView,
		named{name: "a"},
	)
	if err == nil || err.Error() != `--jq: expected an object but got: string ("a")` {
		t.Errorf("%v", err)
	}
	if _, err := ParseFilter(".[", t.Context); err == nil || err.Error() != `unexpected EOF in ".["` {
		t.Errorf("%v", err)
	}
}

// TestFilterOnATerminal: values are indented, and texts can't move the cursor.
func TestFilterOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := Printer{Out: &out, Format: "json", TTY: true, Filter: mustFilter(t, `{count}, .name, (.name | [.] | @tsv)`)}
	assert.NoError(t, Item(p, namedView, named{"a\x1b[2J\nb", 1}))
	want := "{\n  \"count\": 1\n}\na[2J\nb\na[2J\\nb\n"
	assert.Equal(t, out.String(), want)
}

func stream[T any](t *testing.T, p Printer, v View[T], items []T) {
	t.Helper()
	s, err := NewStream(p, v)
	assert.NoError(t, err)
	for _, i := range items {
		assert.NoError(t, s.Add(i))
	}
	assert.NoError(t, s.Close())
}
