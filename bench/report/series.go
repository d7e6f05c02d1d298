package report

import (
	"fmt"
	"slices"
	"time"
)

// Run is what one run of a case measured.
type Run struct {
	RPS float64
	CPU []time.Duration // per request, of each of Series.Servers
	// Latencies.
	P50, P99, P999 time.Duration
	Others         float64 // share of the machine's CPU time that other processes used
}

// Goal is what a case is to reach; 0 means no goal.
type Goal struct {
	Ratio float64 // at least
	CPU   float64 // at most, µs per request
	// At most, as multiples of the baseline's.
	CPURatio, P99Ratio float64
}

// Series is the runs of one case.
type Series struct {
	Name    string
	About   string
	Rate    float64  // at which requests were sent, per second; 0 for as many as the responses allowed
	Servers []string // whose CPU time counts
	Goal    Goal
	Runs    []Run
	// Against names the case to compare with, empty for a baseline, and Baseline is its series. Run
	// i of both is of the same round.
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

// Of returns the CPU time per request in µs of the servers of that name, or of all others than
// Redis and PostgreSQL for none.
func (s *Series) Of(server string) Spread {
	return s.spread(func(r Run) (sum float64) {
		for i, name := range s.Servers {
			if name == server || server == "" && name != "Redis" && name != "PostgreSQL" {
				sum += r.CPU[i].Seconds() * 1e6
			}
		}
		return sum
	})
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

// P999 returns the 99.9th percentile of the latency in ms.
func (s *Series) P999() Spread {
	return s.spread(func(r Run) float64 { return r.P999.Seconds() * 1e3 })
}

// Ratio returns requests per second divided by the baseline's: that of the medians, and the
// extremes of the rounds. It is 1 for a baseline.
func (s *Series) Ratio() Spread { return s.ratio((*Series).RPS, func(r Run) float64 { return r.RPS }) }

// CPURatio returns the CPU time per request divided by the baseline's.
func (s *Series) CPURatio() Spread {
	return s.ratio((*Series).CPU, func(r Run) float64 { return float64(r.cpu()) })
}

// P99Ratio returns the p99 divided by the baseline's.
func (s *Series) P99Ratio() Spread {
	return s.ratio((*Series).P99, func(r Run) float64 { return r.P99.Seconds() })
}

// latencyRate is the highest rate of which the latencies are given: beyond it the load tool itself
// needs the processors.
const latencyRate = 10_000

// HasLatencies reports whether the latencies say something about the server.
func (s *Series) HasLatencies() bool { return s.Rate <= latencyRate && len(s.Runs) > 0 && s.Held() }

// Held reports whether the case served nearly as many requests as were due.
func (s *Series) Held() bool { return len(s.Runs) == 0 || s.RPS().Median >= .97*s.Rate }

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

// Verdict says whether the case reached its goals, "met", "missed", or "" without a goal, or why
// there is nothing to judge.
func (s *Series) Verdict() string {
	atMost := func(value, goal float64) bool { return goal == 0 || value <= goal }
	switch g := s.Goal; {
	case len(s.Runs) == 0:
		return "not measured"
	case !s.Held():
		return fmt.Sprintf("not held: %.0f", s.RPS().Median)
	case g == Goal{}:
		return ""
	default:
		return verdict(round(s.Ratio().Median, 3) >= g.Ratio && atMost(round(s.CPU().Median, 1), g.CPU) &&
			atMost(round(s.CPURatio().Median, 3), g.CPURatio) && atMost(round(s.P99Ratio().Median, 3), g.P99Ratio))
	}
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}
