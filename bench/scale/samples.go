package main

import (
	"math/rand/v2"
	"time"
)

// sample is one size of what is measured. connect returns its operations, one for each kind, which
// return how long they took.
type sample struct {
	n       int
	cells   []string // of its row, between the size and the figures
	last    []string // cells after the figures
	connect func() (kinds []func() time.Duration, leave func())
	took    [][]time.Duration // the medians of the rounds, by kind
}

// rounds is how samples are measured: how often, for how many rounds a connection is used, and how
// many operations of each kind a round has.
type rounds struct{ count, perConnection, warmUp, operations int }

// measure measures all samples in each round, in a new order, so that a disturbance affects all. A
// connection is not used for all rounds, because its placement in memory may double its latencies
// for as long as it is open.
func (r rounds) measure(all []*sample) {
	for range r.count / r.perConnection {
		r.measureOnce(all)
	}
}

func (r rounds) measureOnce(all []*sample) {
	kinds := make([][]func() time.Duration, len(all))
	for i, s := range all {
		operations, leave := s.connect()
		defer leave()
		kinds[i] = operations
		if s.took == nil {
			s.took = make([][]time.Duration, len(operations))
		}
	}
	for range r.perConnection {
		for _, i := range rand.Perm(len(all)) {
			r.round(all[i], kinds[i])
		}
	}
}

func (r rounds) round(s *sample, kinds []func() time.Duration) {
	took := make([][]time.Duration, len(kinds))
	for i := range r.warmUp + r.operations {
		for k, operation := range kinds {
			if d := operation(); i >= r.warmUp {
				took[k] = append(took[k], d)
			}
		}
	}
	for k := range kinds {
		s.took[k] = append(s.took[k], median(took[k]))
	}
}

// addSamples adds a row for each sample, whose figures are in units, and a bound of each kind's
// growth.
func (t *table) addSamples(all []*sample, unit time.Duration, growth float64, kinds ...string) {
	figures := make([][]float64, len(kinds))
	for _, s := range all {
		cells := append([]string{withCommas(int64(s.n))}, s.cells...)
		for k := range kinds {
			f := float64(median(s.took[k])) / float64(unit)
			figures[k], cells = append(figures[k], f), append(cells, significant(f))
		}
		t.add(append(cells, s.last...)...)
	}
	for k, kind := range kinds {
		t.growth(kind, figures[k], growth)
	}
}
