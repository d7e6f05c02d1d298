package report

import "time"

// Half is a case and its baseline, both at half of the rate that the case carries at most.
type Half struct {
	Rate           float64
	Case, Baseline *Series
}

// AimHalf is the most that a case's p99 may be of its baseline's at that rate.
const AimHalf = 1.5

// NewHalf returns one without runs, at half of what the case carried.
func NewHalf(of, baseline *Series) *Half {
	b := &Series{Name: baseline.Name, Servers: baseline.Servers}
	return &Half{Rate: round(of.RPS().Median/2, -2), Case: &Series{Name: of.Name, Servers: of.Servers, Baseline: b}, Baseline: b}
}

// Ratio is the case's p99 over the baseline's: of the medians, and the extremes of the rounds.
func (h *Half) Ratio() Spread {
	return h.Case.ratio((*Series).P99, func(r Run) float64 { return r.P99.Seconds() })
}

// Verdict is "met" or "missed".
func (h *Half) Verdict() string { return verdict(round(h.Ratio().Median, 3) <= AimHalf) }

// Admission is how long the key and the limits take by themselves, without HTTP.
type Admission struct {
	Name        string
	Samples     int
	P50, P99    time.Duration
	Aim         time.Duration // the most that P99 may be
	Allocations float64
}

// Micros is a duration in µs.
func (Admission) Micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

// Verdict is "met" or "missed".
func (a Admission) Verdict() string { return verdict(a.P99 <= a.Aim) }
