// Package report holds a benchmark's measurements and writes them, mainly as a page with a table
// and a chart.
package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"petstore.example/bench/machine"
)

// Report is the result of one call of the benchmark.
type Report struct {
	Machine  machine.Description
	Versions string // of the measured programs

	Took           time.Duration
	Rounds         int
	Duration       time.Duration
	PinnedRounds   int
	PinnedDuration time.Duration
	Connections    int
	BodySize       int

	Series []*Series
}

// Rows returns the series that are rows of the table.
func (r *Report) Rows() []*Series {
	return slices.DeleteFunc(slices.Clone(r.Series), func(s *Series) bool { return s.About == "" })
}

//go:embed *.tmpl
var texts embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"spread": func(format string, s Spread) string {
		return fmt.Sprintf(format+" ("+format+"–"+format+")", s.Median, s.Min, s.Max)
	},
}).ParseFS(texts, "*.tmpl"))

// WriteResults writes the medians of all rows to the file, in the form of Go's benchmarks.
func (r *Report) WriteResults(file string) error { return write(file, "results.tmpl", r) }

// WriteDocument writes the page to the file, and its chart to a directory of the same name beside
// it.
func (r *Report) WriteDocument(file string) error {
	svg := filepath.Join(strings.TrimSuffix(file, filepath.Ext(file)), "ratio.svg")
	return errors.Join(write(file, "benchmarks.md.tmpl", r), write(svg, "ratio.svg.tmpl", ratioChart(r.Rows())))
}

// Table returns the page's table.
func (r *Report) Table() (string, error) {
	var text strings.Builder
	err := templates.ExecuteTemplate(&text, "table", r)
	return text.String(), err
}

func write(file, name string, data any) error {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		return err
	}
	return WriteFile(file, text.Bytes())
}

// WriteFile writes the file, and makes its directory.
func WriteFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
