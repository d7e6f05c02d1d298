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

// table answers one question.
type table struct {
	title string
	about string
	head  []string
	rows  [][]string
	// verdicts say what was set out and whether it is so.
	verdicts []string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// bound adds a verdict: a figure and the most that it may be.
func (t *table) bound(what string, got, most float64) {
	word := "met"
	if got > most {
		word = "missed"
	}
	t.verdicts = append(t.verdicts, fmt.Sprintf("%s: %s, at most %s: %s", what, figure(got), figure(most), word))
}

// growth adds a verdict about a row of figures: how many times the first the greatest is.
func (t *table) growth(what string, figures []float64, most float64) {
	if len(figures) == 0 {
		return
	}
	t.bound(what+", the greatest over the first", slices.Max(figures)/figures[0], most)
}

func (t *table) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n", t.title)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tab, strings.Join(row, "\t")+"\t")
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, strings.Join(t.verdicts, "\n"))
	return err
}

func (t *table) markdown(w *bytes.Buffer) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n| %s |\n|%s\n", t.title, t.about, strings.Join(t.head, " | "), strings.Repeat("--:|", len(t.head)))
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
	text.WriteString("# How costs grow\n\nWritten by `make bench-scale`; run it again to replace every figure. Everything runs on one machine: " + m.String() + ".\n" +
		fmt.Sprintf("PostgreSQL has a quarter of the memory for its buffers, %d MB, as on a server of its own; nothing is read in beforehand but what a table's making leaves there.\n", m.MemoryMB/buffersShare))
	for _, t := range tables {
		t.markdown(&text)
	}
	return report.WriteFile(file, text.Bytes())
}

// figure prints three digits that matter.
func figure(f float64) string {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Sprint(f)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(f)))))
	return strconv.FormatFloat(f, 'f', digits, 64)
}

// grouped prints a number with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

func median[T int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
