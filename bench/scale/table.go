package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"petstore.example/bench/machine"
	"petstore.example/bench/report"
)

// table is the result of one part.
type table struct {
	title string
	about string
	head  []string
	rows  [][]string
	// verdicts are the goals and whether they are met.
	verdicts []string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// bound adds a verdict about a figure and its upper bound.
func (t *table) bound(what string, got, most float64) {
	word := "met"
	if got > most {
		word = "missed"
	}
	t.verdicts = append(
		t.verdicts,
		fmt.Sprintf("%s: %s, at most %s: %s", what, significant(got), significant(most), word),
	)
}

// growth adds a verdict about the greatest figure divided by the first.
func (t *table) growth(what string, figures []float64, most float64) {
	if len(figures) == 0 {
		return
	}
	t.bound(what+", greatest divided by first", slices.Max(figures)/figures[0], most)
}

func (t *table) print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tab, "\n%s\n", t.title)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tab, strings.Join(row, "\t")+"\t")
	}
	fmt.Fprintln(tab, strings.Join(t.verdicts, "\n"))
	return tab.Flush()
}

func (t *table) markdown(w *bytes.Buffer) {
	fmt.Fprintf(
		w,
		"\n## %s\n\n%s\n\n| %s |\n|%s\n",
		t.title,
		t.about,
		strings.Join(t.head, " | "),
		strings.Repeat("--:|", len(t.head)),
	)
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	w.WriteByte('\n')
	for _, v := range t.verdicts {
		fmt.Fprintf(w, "- %s\n", v)
	}
}

func writeDocument(file string, m machine.Description, tables []*table) error {
	var text bytes.Buffer
	text.WriteString(
		"# How costs grow\n\nWritten by `make bench-scale`; run it again to replace every figure. Everything runs " +
			"on one machine: " + m.String() + ".\n" +
			fmt.Sprintf(
				"PostgreSQL's shared_buffers is a quarter of the memory, %d MB. The buffers hold what the making of "+
					"the tables left in them.\n",
				m.MemoryMB/buffersDivisor,
			),
	)
	for _, t := range tables {
		t.markdown(&text)
	}
	return report.WriteFile(file, text.Bytes())
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
func withCommas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func median[T int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
