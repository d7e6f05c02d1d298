package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"petstore.example/bench/machine"
)

// Fact is a name and its value, as "Redis", "7.0.15".
type Fact struct{ Name, Value string }

// Report is the result of one call of the benchmark.
type Report struct {
	Machine  machine.Description
	Versions []Fact
	Settings []Fact // of PostgreSQL

	Took        time.Duration
	Rounds      int
	Duration    time.Duration
	Connections int
	Threads     int
	LogLevel    string
	BodySize    int
	Animals     int
	ManyTenants int

	Series    []*Series
	HalfLoads []*HalfLoad
}

// Others returns the share of the machine's CPU time, in percent, that other processes used.
func (r *Report) Others() Spread {
	var all []float64
	for _, s := range r.Series {
		for _, run := range s.Runs {
			all = append(all, 100*run.Others)
		}
	}
	return spreadOf(all)
}

// Compared returns the cases that are compared with another case.
func (r *Report) Compared() []*Series {
	return slices.DeleteFunc(slices.Clone(r.Series), func(s *Series) bool { return s.Baseline == nil })
}

// Baselines returns the other cases.
func (r *Report) Baselines() []*Series {
	return slices.DeleteFunc(slices.Clone(r.Series), func(s *Series) bool { return s.Baseline != nil })
}

// result is one case in results.json.
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
	for _, s := range r.Compared() {
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
	return WriteFile(file, append(text, '\n'))
}

func round(f float64, digits int) float64 {
	shift := math.Pow10(digits)
	return math.Round(f*shift) / shift
}

// WriteFile writes the file, and makes its directory.
func WriteFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
