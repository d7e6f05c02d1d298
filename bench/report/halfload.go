package report

import "time"

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

// Admission is how long the check of the key and the limits takes, without HTTP.
type Admission struct {
	Name        string
	Samples     int
	P50, P99    time.Duration
	MaxP99      time.Duration
	Allocations float64
}

// Micros returns a duration in µs.
func (Admission) Micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

// Verdict returns "met" or "missed".
func (a Admission) Verdict() string { return verdict(a.P99 <= a.MaxP99) }
