package main

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newRegistry returns a registry with the metrics of the Go runtime and of the process.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (h *health) register(r prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("petstore_limits_degraded", "1 if Redis is configured but limits are enforced without it.", func() float64 {
		return oneIf(h.limiter.state() == "down")
	})
	gauge("petstore_limits_relayed", "1 if only this server can't reach Redis, and another one makes its calls.", func() float64 {
		return oneIf(h.limiter.state() == "relayed")
	})
	gauge("petstore_term_up", "0 if this server has had no term to decide limits in for some seconds: requests are refused.", func() float64 {
		return oneIf(!h.term.lost.Load())
	})
	gauge("petstore_change_feed_up", "1 if this server is notified of changes to keys, tenants, plans and bans.", func() float64 {
		return oneIf(h.directory.FeedHealthy())
	})
	gauge("petstore_clock_ahead_seconds", "By how much this server's clock is ahead of Postgres's, negative if it is behind.", func() float64 {
		return h.clock.Ahead().Seconds()
	})
	gauge("petstore_database_connections_in_use", "Connections to Postgres that are in use.", func() float64 {
		return float64(h.db.Stats().InUse)
	})
	gauge("petstore_database_connections_waited", "Number of times a request waited for a connection to Postgres.", func() float64 {
		return float64(h.db.Stats().WaitCount)
	})
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func adminHandler(cfg config, h *health, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", h.serveReady)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if cfg.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
