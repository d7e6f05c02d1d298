package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

const readyTimeout = time.Second

// health answers whether this server should get requests, and what it has to do without.
type health struct {
	db        *store.DB
	directory *keys.Directory
	limits    *limits
	stopping  atomic.Bool
}

// readiness is the answer of /readyz. Status is ready, degraded (requests are answered, but something is away),
// unavailable or stopping; the last two come with 503.
type readiness struct {
	Status   string `json:"status"`
	Database string `json:"database"`
	Redis    string `json:"redis"`
	Changes  string `json:"changes"`
}

func (h *health) readiness(ctx context.Context) readiness {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	r := readiness{Status: "ready", Database: "ok", Redis: h.limits.state(), Changes: "heard"}
	if !h.directory.FeedHealthy() {
		r.Status, r.Changes = "degraded", "not heard"
	}
	if r.Redis == "degraded" {
		r.Status = "degraded"
	}
	if h.db.Ping(ctx) != nil {
		r.Status, r.Database = "unavailable", "away"
	}
	if h.stopping.Load() {
		r.Status = "stopping"
	}
	return r
}

func (h *health) serveReady(w http.ResponseWriter, req *http.Request) {
	r := h.readiness(req.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if r.Status == "unavailable" || r.Status == "stopping" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(r)
}

// newRegistry has what there is to know of the process itself.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (h *health) register(r prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("petstore_limits_degraded", "1 while limits are kept without Redis although it is configured.", func() float64 {
		return oneIf(h.limits.state() == "degraded")
	})
	gauge("petstore_changes_heard", "1 while changes of keys, tenants, plans and bans are heard.", func() float64 {
		return oneIf(h.directory.FeedHealthy())
	})
	gauge("petstore_database_connections_in_use", "Connections to Postgres that are working.", func() float64 {
		return float64(h.db.Stats().InUse)
	})
	gauge("petstore_database_connections_waited", "Times that a request waited for a connection to Postgres.", func() float64 {
		return float64(h.db.Stats().WaitCount)
	})
	gauge("petstore_directory_callers", "Callers held in memory.", func() float64 { return float64(h.directory.Len()) })
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
