package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"text/template"
)

//go:embed benchmarks.md.tmpl
var documentText string

var document = template.Must(template.New("benchmarks.md").Funcs(template.FuncMap{
	"spread": spreadText, "given": given, "shares": sharesText,
}).Parse(documentText))

// WriteDocument writes the whole report to the file, and its charts to the directory of the same
// name beside it.
func (r *Report) WriteDocument(file string) error {
	dir := strings.TrimSuffix(file, filepath.Ext(file))
	for name, c := range map[string]Chart{
		"pinned.svg": cpuChart("CPU time per request at pinned rates, µs", r.Pinned),
		"ratio.svg":  r.ratioChart(),
		"cpu.svg":    cpuChart("CPU time per request, as fast as possible, µs", r.Series),
	} {
		if err := WriteFile(filepath.Join(dir, name), c.SVG()); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := document.Execute(&text, r); err != nil {
		return err
	}
	return WriteFile(file, text.Bytes())
}

// WriteTables writes the document's tables for the terminal.
func (r *Report) WriteTables(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range []string{"pinned", "cases", "baselines"} {
		var text bytes.Buffer
		if err := document.ExecuteTemplate(&text, name, r); err != nil {
			return err
		}
		for line := range strings.Lines(text.String() + "\n") {
			if !strings.HasPrefix(line, "|--") {
				fmt.Fprint(t, strings.ReplaceAll(line, "|", "\t"))
			}
		}
	}
	fmt.Fprintf(
		t,
		"other processes used %.0f %% of the machine (median of all runs; at most %.0f %%)\n",
		r.Others().Median,
		r.Others().Max,
	)
	return t.Flush()
}

// given formats a goal, or returns "" if it is 0.
func given(format string, goal float64) string {
	if goal == 0 {
		return ""
	}
	return fmt.Sprintf(format, goal)
}

func spreadText(format string, s Spread) string {
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.Median, s.Min, s.Max)
}

func sharesText(s *Series) string {
	parts := make([]string, 0, len(s.Servers))
	for _, share := range s.Shares() {
		parts = append(parts, fmt.Sprintf("%s %.1f", share.Server, share.CPU.Median))
	}
	return strings.Join(parts, ", ")
}

func (r *Report) ratioChart() Chart {
	c := Chart{
		Title:  "Requests per second, divided by the baseline's",
		Note:   "| is the goal: at least",
		Format: "%.2f",
		Least:  1,
	}
	for _, s := range r.Compared() {
		c.Bars = append(c.Bars, Bar{Name: s.Name, Parts: []Part{{"", s.Ratio().Median}}, Mark: s.Goal.Ratio})
	}
	return c
}

func cpuChart(title string, series []*Series) Chart {
	c := Chart{Title: title, Note: "| is the goal: at most", Format: "%.1f"}
	for _, s := range series {
		if len(s.Runs) == 0 || !s.Held() {
			continue
		}
		b := Bar{Name: s.Name, Mark: s.Goal.CPU}
		if s.Baseline != nil {
			b.Mark = max(b.Mark, s.Goal.CPURatio*s.Baseline.CPU().Median)
		}
		for _, share := range s.Shares() {
			b.Parts = append(b.Parts, Part{share.Server, share.CPU.Median})
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}
