package server

import "github.com/prometheus/client_golang/prometheus"

// values registers metrics whose values are computed at each scrape.
type values struct{ prometheus.Registerer }

func (r values) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

func (r values) counter(name, help string, labels prometheus.Labels, value func() int64) {
	r.MustRegister(
		prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value()) },
		),
	)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
