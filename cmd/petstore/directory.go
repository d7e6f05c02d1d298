package main

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys/callers"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
)

// lookupConns is the size of a connection pool for look-ups of callers alone, so that they and the queries of tenants do not wait for
// each other. Unknown keys may use half of it.
const lookupConns = 2 * callers.MaxQueries

// directory finds callers, with its own connections. It is kept up to date by the change feed.
type directory struct {
	*callers.Directory
	db            *store.DB
	stopListening func()
}

func openDirectory(
	ctx context.Context, cfg config, m *registry, cluster *member, log zerolog.Logger,
) (*directory, error) {
	db, err := m.open(ctx, string(cfg.DatabaseURL), lookupsPool, patiently(log, store.Options{AsAPI: true, MaxConns: lookupConns, Trace: cfg.traceQueries()}))
	if err != nil {
		return nil, err
	}
	d := &directory{Directory: callers.NewDirectory(db.Keys, cfg.keys(), cluster.clock.Now), db: db}
	// Without a lease this server may have missed anything. It has none for a while after Postgres was set back: rows that were restored
	// send no notifications.
	cluster.OnRegain(d.AllChanged)
	d.stopListening = background(log, "listen for changes", func(ctx context.Context) error {
		return changefeed.Listen(ctx, string(cfg.DatabaseURL), d, cluster.Wake, log)
	})
	d.register(m)
	return d, nil
}

// Close stops listening and closes the connections.
func (d *directory) Close() error {
	d.stopListening()
	return d.db.Close()
}

func (d *directory) register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_directory_callers", Help: "Callers held in memory.",
	}, func() float64 { return float64(d.Len()) }))
	count := func(caller string, queries *atomic.Int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "petstore_directory_queries_total",
			Help:        "Look-ups of callers that had been in memory (known), and of other keys (unknown).",
			ConstLabels: prometheus.Labels{"caller": caller},
		}, func() float64 { return float64(queries.Load()) }))
	}
	count("known", &d.LookedUp.Known)
	count("unknown", &d.LookedUp.Unknown)
}
