package report

import (
	"slices"
	"time"
)

// Run is what one run of a case measured.
type Run struct {
	RPS      float64
	CPU      []time.Duration // per request, of each of Series.Servers
	P50, P99 time.Duration
	Others   float64 // share of the machine's CPU time that other processes used
}

// Goal is what a case is to reach; 0 means no goal.
type Goal struct {
	Ratio float64 // at least
	CPU   float64 // at most, µs per request
}

// Series is the runs of one case.
type Series struct {
	Name    string
	About   string
	Servers []string // whose CPU time counts
	Goal    Goal
	Runs    []Run
	// Against names the case to compare with, empty for a baseline, and Baseline is its series. Run i of both is of the same round.
	Against  string
	Baseline *Series
}

// Spread is a median and the extremes around it.
type Spread struct{ Median, Min, Max float64 }

func spreadOf(values []float64) Spread {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1]}
}

func (s *Series) spread(of func(Run) float64) Spread {
	values := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		values[i] = of(r)
	}
	return spreadOf(values)
}

// RPS returns requests per second.
func (s *Series) RPS() Spread { return s.spread(func(r Run) float64 { return r.RPS }) }

// CPU returns the CPU time per request in µs, of all servers together.
func (s *Series) CPU() Spread {
	return s.spread(func(r Run) float64 { return r.cpu().Seconds() * 1e6 })
}

func (r Run) cpu() (sum time.Duration) {
	for _, d := range r.CPU {
		sum += d
	}
	return sum
}

// Share is one server's part of the CPU time.
type Share struct {
	Server string
	CPU    Spread // µs per request
}

// Shares returns each server's part.
func (s *Series) Shares() []Share {
	shares := make([]Share, len(s.Servers))
	for i, name := range s.Servers {
		shares[i] = Share{Server: name, CPU: s.spread(func(r Run) float64 { return r.CPU[i].Seconds() * 1e6 })}
	}
	return shares
}

// P50 returns the median latency in ms.
func (s *Series) P50() Spread { return s.spread(func(r Run) float64 { return r.P50.Seconds() * 1e3 }) }

// P99 returns the 99th percentile of the latency in ms.
func (s *Series) P99() Spread { return s.spread(func(r Run) float64 { return r.P99.Seconds() * 1e3 }) }

// Ratio returns requests per second divided by the baseline's: that of the medians, and the extremes of the rounds. It is 1 for a
// baseline.
func (s *Series) Ratio() Spread { return s.ratio((*Series).RPS, func(r Run) float64 { return r.RPS }) }

// CPURatio returns the CPU time per request divided by the baseline's.
func (s *Series) CPURatio() Spread {
	return s.ratio((*Series).CPU, func(r Run) float64 { return float64(r.cpu()) })
}

func (s *Series) ratio(median func(*Series) Spread, of func(Run) float64) Spread {
	if s.Baseline == nil {
		return Spread{1, 1, 1}
	}
	rounds := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		rounds[i] = of(r) / of(s.Baseline.Runs[i])
	}
	ratio := spreadOf(rounds)
	ratio.Median = median(s).Median / median(s.Baseline).Median
	return ratio
}

// Verdict says whether the case reached its goal: "met", "missed", or "" without a goal.
func (s *Series) Verdict() string {
	if s.Goal == (Goal{}) {
		return ""
	}
	return verdict((s.Goal.Ratio == 0 || round(s.Ratio().Median, 3) >= s.Goal.Ratio) && (s.Goal.CPU == 0 || round(s.CPU().Median, 1) <= s.Goal.CPU))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// HalfLoad is a case and its baseline, both at half of the case's maximum rate.
type HalfLoad struct {
	Rate           float64
	Case, Baseline *Series
}

// maxHalfLoadRatio bounds a case's p99 as a multiple of its baseline's at that rate.
const maxHalfLoadRatio = 1.5

// NewHalfLoad returns a HalfLoad without runs, at half of the rate that the case reached.
func NewHalfLoad(of, baseline *Series) *HalfLoad {
	b := &Series{Name: baseline.Name, Servers: baseline.Servers}
	return &HalfLoad{Rate: round(of.RPS().Median/2, -2), Case: &Series{Name: of.Name, Servers: of.Servers, Baseline: b}, Baseline: b}
}

// Ratio returns the case's p99 divided by the baseline's: that of the medians, and the extremes of the rounds.
func (h *HalfLoad) Ratio() Spread {
	return h.Case.ratio((*Series).P99, func(r Run) float64 { return r.P99.Seconds() })
}

// Verdict returns "met" or "missed".
func (h *HalfLoad) Verdict() string { return verdict(round(h.Ratio().Median, 3) <= maxHalfLoadRatio) }
