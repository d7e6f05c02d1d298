package main

import (
	_ "embed" // the page
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed benchmarks-scale.md.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// table is the result of one part.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String is the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("--:|", len(t.head)))
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// significant formats a figure with three significant digits.
func significant(f float64) string {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Sprint(f)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(f)))))
	return strconv.FormatFloat(f, 'f', digits, 64)
}

// withCommas formats a number with thousands separators.
func withCommas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// spread formats durations as their median and extremes, in units.
func spread(all []time.Duration, unit time.Duration) string {
	sorted := slices.Sorted(slices.Values(all))
	in := func(i int) string { return significant(float64(sorted[i]) / float64(unit)) }
	return fmt.Sprintf("%s (%s–%s)", in(len(sorted)/2), in(0), in(len(sorted)-1))
}
