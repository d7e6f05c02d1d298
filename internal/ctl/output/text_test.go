package output

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"petstore.example/internal/test/assert"
)

func TestRelative(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		0: "just now", -59 * time.Second: "in a moment", 59 * time.Second: "just now",
		time.Minute: "1 minute ago", 2*time.Hour + 59*time.Minute: "2 hours ago", -24 * time.Hour: "Sat in 1 day",
		13 * day: "Sat 13 days ago", 14 * day: "14 days ago",
		29 * day: "29 days ago", 30 * day: "1 month ago", -800 * day: "in 2 years",
	} {
		assert.Equal(t, relative(now.Add(-ago), now), want, ago, "ago")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "a\x1b[31mb": "a[31mb", "a\tb\nc\rd": "a b cd", "a\x00\x7f\u009bb": "ab",
		"\u202Eabc\u2066": "abc", "a\u200Bb\uFEFF\u2028": "ab", "👩\u200D💻": "👩\u200D💻", "\xff": "\uFFFD",
	} {
		assert.Equal(t, Clean(text), want, text)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567",
		-9223372036854775808: "-9,223,372,036,854,775,808",
	} {
		assert.Equal(t, Thousands(n), want, n)
	}
}

func TestJSONDoesNotEscapeHTML(t *testing.T) {
	t.Parallel()
	v := View[string]{{Name: "text", Value: func(s string) any { return s }}}
	text, err := object[string]{v, "a<b>&\u2028"}.MarshalJSON()
	if want := `{"text":"a<b>&\u2028"}`; err != nil || string(text) != want || !json.Valid(text) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestJSONHidesNothing: what could move a terminal's cursor or change the direction of text is
// escaped, and is the same text.
func TestJSONHidesNothing(t *testing.T) {
	t.Parallel()
	const name = "\x1b[2J\x7f\u009b\u202Ea\u200B\U000E0001b\u200D é 日本"
	text, err := object[named]{namedView, named{name: name}}.MarshalJSON()
	want := `{"name":"\u001b[2J\u007f\u009b\u202ea\u200b\udb40\udc01b` + "\u200D é 日本" + `","count":0}`
	assert.Result(t, string(text), err, want)
	var back struct{ Name string }
	if err := json.Unmarshal(text, &back); err != nil || back.Name != name {
		t.Errorf("%q, %v", back.Name, err)
	}
}

// TestJSONOfAnyTime: a time in the database that JSON does not know does not end the program.
func TestJSONOfAnyTime(t *testing.T) {
	t.Parallel()
	view := View[time.Time]{{Name: "at", Value: func(at time.Time) any { return at }}}
	for want, at := range map[string]time.Time{
		`{"at":"2026-11-20T10:30:00Z"}`:  time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
		`{"at":"12026-11-20T10:30:00Z"}`: time.Date(12026, 11, 20, 10, 30, 0, 0, time.UTC),
		`{"at":"-4000-11-20T10:30:00Z"}`: time.Date(-4000, 11, 20, 10, 30, 0, 0, time.UTC),
	} {
		assert.Equal(t, string(ItemJSON(view, at)), want)
	}
}

func TestCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	type item struct {
		text   string
		list   []string
		number int64
		least  *int64
	}
	view := View[item]{
		{
			Name:  "text",
			Value: func(i item) any { return i.text },
		},
		{Name: "list", Value: func(i item) any { return i.list }},
		{
			Name:  "number",
			Value: func(i item) any { return i.number },
		},
		{Name: "least", Value: func(i item) any { return i.least }},
	}
	five := int64(-5)
	for text, want := range map[string]string{
		"": "", "acme": "acme", "a=1": "a=1", "'": "'", "a-b@c": "a-b@c",
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1": "'+1", "-5": "'-5", "@SUM(A1)": "'@SUM(A1)",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a",
		"\t=1": "' =1", "\r=1": "'=1", "  =1": "'  =1", "\n+1": "' +1", "\u202E=1": "'=1", `=1,"`: `"'=1,"""`,
	} {
		var out strings.Builder
		assert.NoError(
			t,
			List(Printer{Out: &out, Format: "csv"}, view, []item{{text, []string{"-a", "=b"}, five, &five}}),
		)
		if got, want := out.String(), "text,list,number,least\n"+want+",\"'-a,=b\",-5,-5\n"; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestZone: a time zone that was asked for is that of all times in tables and rows, and of no other
// format.
func TestZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	view := View[time.Time]{{Name: "at", Value: func(at time.Time) any { return at }, InList: true}}
	berlin := time.FixedZone("", 3600)
	for _, test := range []struct {
		layout, format string
		zone           *time.Location
		want           string
	}{
		{"", "", nil, "2026-11-20T10:30:00Z\n"},
		{"", "", berlin, "2026-11-20T11:30:00+01:00\n"},
		{"", "table", berlin, "AT\n2026-11-20T11:30:00+01:00\n"},
		{"", "table", time.UTC, "AT\n2026-11-20T10:30:00Z\n"},
		{"", "csv", berlin, "at\n2026-11-20T10:30:00Z\n"},
		{"2006-01-02 15:04Z", "table", nil, "AT\n2026-11-20 10:30Z\n"},
		{"2006-01-02 15:04Z", "table", time.UTC, "AT\n2026-11-20 10:30Z\n"},
		{"2006-01-02 15:04Z", "table", berlin, "AT\n2026-11-20 11:30+01:00\n"},
		{time.RFC3339, "table", berlin, "AT\n2026-11-20T11:30:00+01:00\n"},
		{time.RFC3339Nano, "jsonl", berlin, `{"at":"2026-11-20T10:30:00Z"}` + "\n"},
	} {
		v := view
		if test.layout != "" {
			v = view.FormatTimes(test.layout)
		}
		p := Printer{Format: test.format, Zone: test.zone}
		assert.Equal(t, list(t, p, v, []time.Time{at}), test.want, test)
	}
	if got := list(
		t,
		Printer{Format: "jsonl"},
		view.FormatTimes(time.RFC3339),
		[]time.Time{{}},
	); got != `{"at":null}`+"\n" {
		t.Errorf("no time: %s", got)
	}
}

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
		assert.NoError(t, Table(Printer{Out: &out, TTY: true, Width: width}, view, []item{one}))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := lines[len(lines)-1]; got != want || utf8.RuneCountInString(got) > max(width, 32) {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
