package output

import (
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

func TestColorsFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		terminal bool
		env      map[string]string
		want     Colors
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"NO_COLOR": ""}, true},
		{true, map[string]string{"CLICOLOR": "0"}, false},
		{false, map[string]string{"CLICOLOR": "1"}, false},
		{true, map[string]string{"TERM": "dumb"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{true, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
	} {
		if got := ColorsFor(test.terminal, func(name string) string { return test.env[name] }); got != test.want {
			t.Errorf("terminal %v, %v: %v, want %v", test.terminal, test.env, got, test.want)
		}
	}
}

// TestColors: words of a status and headings have colors in tables, on lines as wide as without,
// and in no other format.
func TestColors(t *testing.T) {
	t.Parallel()
	type item struct {
		status string
		until  time.Time
	}
	v := View[item]{
		{Name: "status", Value: func(i item) any { return i.status }, InList: true},
		{Name: "expires_at", Value: func(i item) any { return i.until }, InList: true},
	}
	now := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	items := []item{{"active", now.Add(29 * day)}, {"revoked", now.Add(31 * day)}, {"other", time.Time{}}}
	p := Printer{Format: "table", TTY: true, Width: 80, Now: now, Colors: true}
	want := "\x1b[1mSTATUS\x1b[0m   \x1b[1mEXPIRES AT\x1b[0m\n" +
		"\x1b[32mactive\x1b[0m   \x1b[33min 29 days\x1b[0m\n" +
		"\x1b[31mrevoked\x1b[0m  in 1 month\n" +
		"other    -\n"
	assert.Equal(t, list(t, p, v, items), want)
	for _, format := range []string{"", "json", "jsonl", "csv"} {
		p.Format = format
		got := list(t, p, v, items)
		assert.True(t, !strings.Contains(got, "\x1b"), format, got)
	}
}

func list[T any](t *testing.T, p Printer, v View[T], items []T) string {
	t.Helper()
	var out strings.Builder
	p.Out = &out
	assert.NoError(t, List(p, v, items))
	return out.String()
}
