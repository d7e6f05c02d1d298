package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"text/tabwriter"
	"text/template"
	"time"

	"petstore.example/bench/machine"
)

// Fact is a name and its value, as "Redis", "7.0.15".
type Fact struct{ Name, Value string }

// Report is all that one call of the benchmark measured, and how.
type Report struct {
	Machine  machine.Description
	Versions []Fact
	Settings []Fact // of PostgreSQL

	Rounds      int
	Duration    time.Duration
	Connections int
	Threads     int
	LogLevel    string
	BodySize    int
	Animals     int

	Series []*Series

	Admission     testing.BenchmarkResult
	AdmissionTime time.Duration // the most that it may take
	AdmissionMost int64         // the most allocations that it may make
}

// Others is the share of the machine, in percent, that went to processes which are no part of the benchmark.
func (r *Report) Others() Spread {
	var all []float64
	for _, s := range r.Series {
		for _, run := range s.Runs {
			all = append(all, 100*run.Others)
		}
	}
	return spreadOf(all)
}

// result is one case as results.json has it.
type result struct {
	Name        string  `json:"name"`
	Ratio       float64 `json:"ratio"`
	RPS         float64 `json:"rps"`
	BaselineRPS float64 `json:"baseline_rps"`
	CPUMicros   float64 `json:"cpu_us"`
	P50Millis   float64 `json:"p50_ms"`
	P99Millis   float64 `json:"p99_ms"`
	Runs        int     `json:"runs"`
}

// WriteResults replaces the file with the medians of all cases.
func (r *Report) WriteResults(file string) error {
	results := struct {
		Cases []result `json:"cases"`
	}{Cases: []result{}}
	for _, s := range r.Series {
		if s.Baseline == nil {
			continue
		}
		results.Cases = append(results.Cases, result{
			Name: s.Name, Ratio: round(s.Ratio().Median, 3),
			RPS: round(s.RPS().Median, 0), BaselineRPS: round(s.Baseline.RPS().Median, 0),
			CPUMicros: round(s.CPU().Median, 1), P50Millis: round(s.P50().Median, 3), P99Millis: round(s.P99().Median, 3),
			Runs: len(s.Runs),
		})
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func round(f float64, digits int) float64 {
	shift := math.Pow10(digits)
	return math.Round(f*shift) / shift
}

// WriteTable writes what a person wants to see first.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\trequests/s\t(min-max)\tratio\t(min-max)\tCPU µs\tp50 ms\tp99 ms\truns\t")
	for _, s := range r.Series {
		rps, ratio := s.RPS(), s.Ratio()
		fmt.Fprintf(t, "%s\t%.0f\t(%.0f-%.0f)\t%.2f\t(%.2f-%.2f)\t%.1f\t%.2f\t%.2f\t%d\t\n", s.Name, rps.Median, rps.Min, rps.Max,
			ratio.Median, ratio.Min, ratio.Max, s.CPU().Median, s.P50().Median, s.P99().Median, len(s.Runs))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nkey look-up and both windows in memory: %d ns, %d allocations (at most %d ns, %d)\n"+
		"other processes used %.0f %% of the machine (median of all runs; at most %.0f %%)\n",
		r.Admission.NsPerOp(), r.Admission.AllocsPerOp(), r.AdmissionTime.Nanoseconds(), r.AdmissionMost,
		r.Others().Median, r.Others().Max)
	return err
}

//go:embed benchmarks.md.tmpl
var documentText string

var document = template.Must(template.New("benchmarks.md").Parse(documentText))

// WriteDocument replaces the file with the whole report.
func (r *Report) WriteDocument(file string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".benchmarks-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := document.Execute(f, r); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
