package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"petstore.example/internal/buildinfo"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pgconn"
)

// The pools of connections to Postgres, by purpose.
const (
	requestsPool = "requests"
	lookupsPool  = "lookups"
	clusterPool  = "cluster"
	webhooksPool = "webhooks"
)

// registry is the registry of this server's metrics. It includes metrics of the Go runtime, of the
// process, and of calls to Postgres and Redis.
type registry struct {
	*prometheus.Registry
	postgres, redis *prometheus.HistogramVec
	pools           *poolMetrics
	unavailable     *prometheus.CounterVec
	// fullAt is when Postgres's disk was last full, in Unix nanoseconds.
	fullAt atomic.Int64
}

func newMetrics(build buildinfo.Info) *registry {
	m := &registry{
		Registry: prometheus.NewRegistry(),
		postgres: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "petstore_database_call_duration_seconds",
			Help: "Duration of calls to Postgres in seconds, the wait for a connection included, by pool and " +
				"result.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"pool", "result"}),
		redis: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "petstore_redis_call_duration_seconds",
			Help:    "Duration of calls to Redis in seconds, by result.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25},
		}, []string{"result"}),
		pools: &poolMetrics{},
		unavailable: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_database_unavailable_total",
			Help: "Calls to Postgres that ended because it was unavailable, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range pgconn.Reasons {
		m.unavailable.WithLabelValues(reason) // so that the first one is counted as an increase
	}
	m.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.postgres,
		m.redis,
		m.pools,
		m.unavailable,
	)
	values{
		m,
	}.gauge(
		"petstore_build_info",
		"The version and revision of this program, and the Go that built it. Always 1.",
		prometheus.Labels{
			"version":    build.Version,
			"revision":   build.Commit,
			"go_version": build.Go,
		},
		func() float64 { return 1 },
	)
	return m
}

// open opens a pool whose calls are observed.
func (m *registry) open(ctx context.Context, url, pool string, o store.Options) (*store.DB, error) {
	o.Observe = observing(m.postgres.MustCurryWith(prometheus.Labels{"pool": pool}), m.countUnavailable)
	db, err := store.Open(ctx, url, o)
	if err == nil {
		m.pools.names, m.pools.dbs = append(m.pools.names, pool), append(m.pools.dbs, db)
	}
	return db, err
}

// startTimeout bounds waits that happen only at start: for the first connection of a pool, and for
// each call of the checks. It is long, because a server should also start with a slow Postgres.
const startTimeout = 10 * time.Second

// patiently returns the options of a pool that is opened at start.
func patiently(log zerolog.Logger, o store.Options) store.Options {
	o.OpenTimeout = startTimeout
	o.Waiting = func(err error) { log.Warn().Err(err).Msg("waiting for Postgres") }
	return o
}

// fullFor is how long a disk counts as full after it refused a call. Servers write more often than
// that.
const fullFor = 10 * time.Second

// countUnavailable reports whether a call ended because Postgres was unavailable, and counts it by
// reason.
func (m *registry) countUnavailable(err error) bool {
	if !errors.Is(err, store.ErrUnavailable) {
		return false
	}
	reason := pgconn.Reason(err)
	m.unavailable.WithLabelValues(reason).Inc()
	if reason == pgconn.DiskFull {
		m.fullAt.Store(time.Now().UnixNano())
	}
	return true
}

// diskFull reports whether Postgres lately refused a call because its disk is full.
func (m *registry) diskFull() bool { return time.Now().UnixNano()-m.fullAt.Load() < int64(fullFor) }

// observing returns a function that observes the duration of a call by its result: ok, canceled,
// unavailable, or failed for other errors.
func observing(durations prometheus.ObserverVec, isUnavailable func(error) bool) func(time.Duration, error) {
	of := func(result string) prometheus.Observer { return durations.With(prometheus.Labels{"result": result}) }
	ok, canceled, unavailable, failed := of("ok"), of("canceled"), of("unavailable"), of("failed")
	return func(took time.Duration, err error) {
		switch seconds := took.Seconds(); {
		case err == nil:
			ok.Observe(seconds)
		case errors.Is(err, context.Canceled):
			canceled.Observe(seconds)
		case isUnavailable(err):
			unavailable.Observe(seconds)
		default:
			failed.Observe(seconds)
		}
	}
}

// poolMetrics has the pools of connections to Postgres. All are opened before the first scrape.
type poolMetrics struct {
	names []string
	dbs   []*store.DB
}

var (
	poolConnections = prometheus.NewDesc("petstore_database_connections",
		"Open connections to Postgres by pool and state.", []string{"pool", "state"}, nil)
	poolMost = prometheus.NewDesc("petstore_database_connections_max",
		"The most connections to Postgres that a pool opens.", []string{"pool"}, nil)
	poolWaits = prometheus.NewDesc("petstore_database_connection_waits_total",
		"Calls that waited for a connection to Postgres, by pool.", []string{"pool"}, nil)
	poolWaited = prometheus.NewDesc("petstore_database_connection_wait_seconds_total",
		"Time that calls waited for a connection to Postgres, in seconds, by pool.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (m *poolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolMost, poolWaits, poolWaited} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *poolMetrics) Collect(to chan<- prometheus.Metric) {
	for i, pool := range m.names {
		s := m.dbs[i].Stats()
		to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(s.InUse), pool, "in_use")
		to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(s.Idle), pool, "idle")
		to <- prometheus.MustNewConstMetric(poolMost, prometheus.GaugeValue, float64(s.MaxOpenConnections), pool)
		to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(s.WaitCount), pool)
		to <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, s.WaitDuration.Seconds(), pool)
	}
}
