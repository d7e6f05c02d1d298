package report

import (
	"slices"
	"time"
)

// Run is what one run of a case showed.
type Run struct {
	RPS      float64
	CPU      []time.Duration // used for one request by each of Series.Servers
	P50, P99 time.Duration
	Others   float64 // share of the machine's processor time that went to processes which are no part of the benchmark
}

// Aim is what a case is to reach; 0 for what is not bounded.
type Aim struct {
	Ratio float64 // at least
	CPU   float64 // at most, µs a request
}

// Series is the runs of one case.
type Series struct {
	Name    string
	About   string
	Servers []string // who works for the case
	Aim     Aim
	Runs    []Run
	// Against is the name of what the case is compared with, empty for a baseline, and Baseline that series. Run i of both
	// belongs to the same round.
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

// RPS is requests a second.
func (s *Series) RPS() Spread { return s.spread(func(r Run) float64 { return r.RPS }) }

// CPU is processor time a request in µs, of all servers together.
func (s *Series) CPU() Spread {
	return s.spread(func(r Run) float64 { return r.cpu().Seconds() * 1e6 })
}

func (r Run) cpu() (sum time.Duration) {
	for _, d := range r.CPU {
		sum += d
	}
	return sum
}

// Share is one server's part of the processor time.
type Share struct {
	Server string
	CPU    Spread // µs a request
}

// Shares returns each server's part.
func (s *Series) Shares() []Share {
	shares := make([]Share, len(s.Servers))
	for i, name := range s.Servers {
		shares[i] = Share{Server: name, CPU: s.spread(func(r Run) float64 { return r.CPU[i].Seconds() * 1e6 })}
	}
	return shares
}

// P50 is the median latency in ms.
func (s *Series) P50() Spread { return s.spread(func(r Run) float64 { return r.P50.Seconds() * 1e3 }) }

// P99 is the latency in ms that one request in a hundred exceeds.
func (s *Series) P99() Spread { return s.spread(func(r Run) float64 { return r.P99.Seconds() * 1e3 }) }

// Ratio is requests a second over the baseline's: of the medians, and the extremes of the rounds. A baseline's is 1.
func (s *Series) Ratio() Spread { return s.ratio((*Series).RPS, func(r Run) float64 { return r.RPS }) }

// CPURatio is processor time a request as a share of the baseline's.
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

// Verdict says whether the case reached what it is to: "met", "missed", or "" where nothing is set.
func (s *Series) Verdict() string {
	if s.Aim == (Aim{}) {
		return ""
	}
	return verdict((s.Aim.Ratio == 0 || round(s.Ratio().Median, 3) >= s.Aim.Ratio) && (s.Aim.CPU == 0 || round(s.CPU().Median, 1) <= s.Aim.CPU))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}
