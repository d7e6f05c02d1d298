package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is the measurement of one run of a case.
type Run struct {
	RPS      float64
	CPU      []time.Duration // per request, one for each of Series.Servers
	P50, P99 float64         // latencies in µs
}

// Series is the runs of one case.
type Series struct {
	Name    string
	About   string   // what it is; empty for a baseline that is not a row of the table
	Rate    float64  // requests sent per second; 0 for as many as the responses allowed
	Servers []string // the servers whose CPU time counts
	Runs    []Run
	// Baseline is the series to compare with, or nil. Run i of both belongs to the same round.
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

func rps(r Run) float64 { return r.RPS }

// cpu returns the CPU time of a run, in µs.
func cpu(r Run) (sum float64) {
	for _, d := range r.CPU {
		sum += d.Seconds() * 1e6
	}
	return sum
}

// RPS returns requests per second.
func (s *Series) RPS() Spread { return s.spread(rps) }

// CPU returns the CPU time per request in µs, of all servers together.
func (s *Series) CPU() Spread { return s.spread(cpu) }

// P50 returns the median latency in ms.
func (s *Series) P50() Spread { return s.spread(func(r Run) float64 { return r.P50 / 1e3 }) }

// P99 returns the 99th percentile of the latency in ms.
func (s *Series) P99() Spread { return s.spread(func(r Run) float64 { return r.P99 / 1e3 }) }

// share returns one server's CPU time per request, in µs.
func (s *Series) share(server int) Spread {
	return s.spread(func(r Run) float64 { return r.CPU[server].Seconds() * 1e6 })
}

// Shares returns each server's part of the CPU time, as "petstore 20.8, PostgreSQL 0.1".
func (s *Series) Shares() string {
	parts := make([]string, len(s.Servers))
	for i, server := range s.Servers {
		parts[i] = fmt.Sprintf("%s %.1f", server, s.share(i).Median)
	}
	return strings.Join(parts, ", ")
}

// Ratio returns requests per second divided by the baseline's: the ratio of the medians, and the
// extremes of the rounds. It is 1 without a baseline.
func (s *Series) Ratio() Spread { return s.ratio(rps) }

// CPURatio returns the CPU time per request divided by the baseline's.
func (s *Series) CPURatio() Spread { return s.ratio(cpu) }

func (s *Series) ratio(of func(Run) float64) Spread {
	if s.Baseline == nil {
		return Spread{1, 1, 1}
	}
	rounds := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		rounds[i] = of(r) / of(s.Baseline.Runs[i])
	}
	ratio := spreadOf(rounds)
	ratio.Median = s.spread(of).Median / s.Baseline.spread(of).Median
	return ratio
}
