package main

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/buildinfo"
	"petstore.example/internal/usage"
)

// buildInfo is the metric that says which program this is.
func buildInfo() prometheus.Collector {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "petstore_build_info", Help: "The version and revision of this program, and the Go that built it. Always 1.",
	}, []string{"version", "revision", "go_version"})
	g.WithLabelValues(versionText(), buildinfo.Read("").Commit, runtime.Version()).Set(1)
	return g
}

// gauges registers gauges whose values are asked for at each scrape.
type gauges struct{ prometheus.Registerer }

func (r gauges) add(name, help string, labels prometheus.Labels, value func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

// The modes: where the limits of a request are counted.
const (
	modeMemory   = "memory"   // in this process, because no Redis is configured
	modeRedis    = "redis"    // in Redis
	modePostgres = "postgres" // by grants from Postgres
	modeNone     = "none"     // nowhere: no term is in force
)

var modes = []string{modeMemory, modeRedis, modePostgres, modeNone}

func (l *rateLimiter) mode() string {
	switch state := l.state(); {
	case state == "none":
		return modeMemory
	case !l.decides():
		return modeNone
	case state == "down":
		return modePostgres
	}
	return modeRedis
}

// startChecks are those that a server makes at its start.
var startChecks = []string{"login", "schema", "secrets", "socket"}

func (h *health) register(r prometheus.Registerer) {
	g := gauges{r}
	g.add("petstore_database_up", "1 if Postgres answers, as in /readyz.", nil, func() float64 { return oneIf(h.database.check() == nil) })
	g.add("petstore_limits_degraded", "1 if Redis is configured but limits are enforced without it.", nil, func() float64 {
		return oneIf(h.limiter.state() == "down")
	})
	g.add("petstore_limits_cut_off", "1 if only this server can't reach Redis: its requests are refused.", nil, func() float64 {
		return oneIf(h.limiter.state() == "cut_off")
	})
	for _, mode := range modes {
		g.add("petstore_limits_mode", "1 for the mode in which this server decides over limits, 0 for the others.", prometheus.Labels{"mode": mode},
			func() float64 { return oneIf(h.limiter.mode() == mode) })
	}
	g.add("petstore_term_up", "0 if this server has had no term to decide limits in for some seconds: requests are refused.", nil, func() float64 {
		return oneIf(!h.term.lost.Load())
	})
	g.add("petstore_term_number", "The number of the term in force on this server, 0 for none.", nil, func() float64 {
		t, ok := h.member.Term()
		return float64(t.Number) * oneIf(ok)
	})
	g.add("petstore_term_servers", "How many servers were live when the term in force began.", nil, func() float64 {
		t, ok := h.member.Term()
		return float64(t.Servers) * oneIf(ok)
	})
	g.add("petstore_change_feed_up", "1 if this server is notified of changes to keys, tenants, plans and bans.", nil, func() float64 {
		return oneIf(h.directory.FeedHealthy())
	})
	g.add("petstore_clock_ahead_seconds", "By how much this server's clock is ahead of Postgres's, negative if it is behind.", nil, func() float64 {
		return h.clock.Ahead().Seconds()
	})
	for _, check := range startChecks {
		g.add("petstore_start_warning", "1 if this server warned at its start, by check.", prometheus.Labels{"check": check}, func() float64 {
			return oneIf(h.found[check] != "")
		})
	}
}

// registerUsage registers the metrics of what is recorded for billing.
func registerUsage(r prometheus.Registerer, meter *usage.Meter) {
	g := gauges{r}
	g.add("petstore_usage_unrecorded_requests", "Requests that are counted and not yet recorded in Postgres.", nil, func() float64 {
		return float64(meter.Backlog().Requests)
	})
	g.add("petstore_usage_unrecorded_age_seconds", "Age of the oldest request that is not yet recorded in Postgres, 0 if there is none.", nil,
		func() float64 { return meter.Backlog().Age.Round(time.Millisecond).Seconds() })
	recorded := func(result string, of func() int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "petstore_usage_recorded_requests_total", Help: "Requests that this server recorded in Postgres, by result.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(of()) }))
	}
	recorded("admitted", func() int64 { n, _ := meter.Progress.Recorded(); return n })
	recorded("refused", func() int64 { _, n := meter.Progress.Recorded(); return n })
}
