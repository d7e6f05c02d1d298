package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys/callers"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
)

// lookupConns is the size of a connection pool that only look-ups of callers use, so that they and
// the queries of tenants do not wait for each other. Unknown keys may use half of it.
const lookupConns = 2 * callers.MaxQueries

// directory finds callers, with its own connections. The change feed keeps it up to date.
type directory struct {
	*callers.Directory
	db            *store.DB
	stopListening func()
}

func openDirectory(
	ctx context.Context,
	cfg *config.Config,
	m *registry,
	cluster *member,
	log zerolog.Logger,
) (*directory, error) {
	db, err := m.open(
		ctx,
		string(cfg.DatabaseURL),
		lookupsPool,
		patiently(log, store.Options{AsAPI: true, MaxConns: lookupConns, Trace: traceQueries(cfg)}),
	)
	if err != nil {
		return nil, err
	}
	d := &directory{Directory: callers.NewDirectory(db.Keys, cfg.Keys(), cluster.clock.Now), db: db}
	// Without a lease this server may have missed changes. It also loses its lease for a while when
	// Postgres was set back, because restored rows send no notifications.
	cluster.OnRegain(d.AllChanged)
	d.stopListening = background(log, "listen for changes", func(ctx context.Context) error {
		changefeed.Listen(ctx, db.CurrentURL, d, cluster.Wake, log)
		return nil
	})
	v := values{m}
	v.gauge("petstore_directory_callers", "Callers held in memory.", nil, func() float64 { return float64(d.Len()) })
	const queries, help = "petstore_directory_queries_total",
		"Look-ups of callers that had been in memory (known), and of other keys (unknown)."
	v.counter(queries, help, prometheus.Labels{"caller": "known"}, d.LookedUp.Known.Load)
	v.counter(queries, help, prometheus.Labels{"caller": "unknown"}, d.LookedUp.Unknown.Load)
	return d, nil
}

// Close stops listening and closes the connections.
func (d *directory) Close() error {
	d.stopListening()
	return d.db.Close()
}
