package report

import (
	"encoding/json"
	"fmt"
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

	Series []*Series
	Pinned []*Series // those at a pinned rate

	PinnedRounds   int
	PinnedDuration time.Duration
	Partial        bool // only some cases were measured
}

// Others returns the share of the machine's CPU time, in percent, that other processes used.
func (r *Report) Others() Spread {
	var all []float64
	for _, s := range slices.Concat(r.Pinned, r.Series) {
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
	Name        string             `json:"name"`
	Ratio       float64            `json:"ratio,omitempty"`
	RPS         float64            `json:"rps"`
	BaselineRPS float64            `json:"baseline_rps,omitempty"`
	CPUMicros   float64            `json:"cpu_us"`
	CPURatio    float64            `json:"cpu_ratio,omitempty"`
	CPUOf       map[string]float64 `json:"cpu_us_of,omitempty"` // by server
	P50Millis   float64            `json:"p50_ms"`
	P99Millis   float64            `json:"p99_ms"`
	P999Millis  float64            `json:"p999_ms,omitempty"`
	Runs        int                `json:"runs"`
}

// results are what results.json has.
type results struct {
	Cases []result `json:"cases"`
}

// WriteResults writes the medians of all cases to the file. If only some were measured, it keeps
// the file's other cases.
func (r *Report) WriteResults(file string) error {
	all := results{Cases: []result{}}
	if old, err := os.ReadFile(file); err == nil && r.Partial {
		if err := json.Unmarshal(old, &all); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, s := range slices.Concat(r.Pinned, r.Compared()) {
		if len(s.Runs) == 0 {
			continue
		}
		measured := s.result()
		if i := slices.IndexFunc(all.Cases, func(c result) bool { return c.Name == s.Name }); i >= 0 {
			all.Cases[i] = measured
		} else {
			all.Cases = append(all.Cases, measured)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(file, append(text, '\n'))
}

func (s *Series) result() result {
	c := result{
		Name: s.Name, RPS: round(s.RPS().Median, 0), CPUMicros: round(s.CPU().Median, 1),
		P50Millis: round(s.P50().Median, 3), P99Millis: round(s.P99().Median, 3), Runs: len(s.Runs),
	}
	if s.Rate == 0 {
		c.Ratio, c.BaselineRPS = round(s.Ratio().Median, 3), round(s.Baseline.RPS().Median, 0)
		return c
	}
	c.CPURatio, c.P999Millis, c.CPUOf = round(s.CPURatio().Median, 3), round(s.P999().Median, 3), map[string]float64{}
	for _, share := range s.Shares() {
		c.CPUOf[share.Server] = round(share.CPU.Median, 1)
	}
	return c
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
