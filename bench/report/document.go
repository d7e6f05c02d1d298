package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed benchmarks.md.tmpl
var documentText string

var document = template.Must(template.New("benchmarks.md").Funcs(template.FuncMap{
	"spread": spreadText, "given": given, "shares": sharesText,
}).Parse(documentText))

// WriteDocument replaces the file with the whole report, and its pictures in the folder of the same name beside it.
func (r *Report) WriteDocument(file string) error {
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	for name, c := range map[string]Chart{"ratio.svg": r.ratioChart(), "cpu.svg": r.cpuChart(), "half.svg": r.halfChart()} {
		text, err := c.SVG()
		if err != nil {
			return fmt.Errorf("draw %s: %w", name, err)
		}
		if err := WriteFile(filepath.Join(folder, name), text); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := document.Execute(&text, r); err != nil {
		return err
	}
	return WriteFile(file, text.Bytes())
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
	c := Chart{Title: "Requests a second, as a share of the baseline's", Note: "| is the least that is to be reached", Format: "%.2f", Least: 1}
	for _, s := range r.Compared() {
		c.Bars = append(c.Bars, Bar{Name: s.Name, Parts: []Part{{"", s.Ratio().Median}}, Mark: s.Aim.Ratio})
	}
	return c
}

func (r *Report) cpuChart() Chart {
	c := Chart{Title: "Processor time a request, µs", Note: "| is the most that is allowed", Format: "%.1f"}
	for _, s := range r.Series {
		b := Bar{Name: s.Name, Mark: s.Aim.CPU}
		for _, share := range s.Shares() {
			b.Parts = append(b.Parts, Part{share.Server, share.CPU.Median})
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

func (r *Report) halfChart() Chart {
	c := Chart{Title: "p99 at half of the maximum load, ms", Note: "| is the most that is allowed", Format: "%.2f"}
	for _, h := range r.Halves {
		base := h.Baseline.P99().Median
		c.Bars = append(c.Bars,
			Bar{Name: fmt.Sprintf("%s, %.0f/s", h.Case.Name, h.Rate), Parts: []Part{{"petstore", h.Case.P99().Median}}, Mark: AimHalf * base},
			Bar{Name: "bare Gin at that rate", Parts: []Part{{"Gin", base}}})
	}
	return c
}
