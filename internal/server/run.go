package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"petstore.example/internal/account"
	"petstore.example/internal/api"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/buildinfo"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/loglimit"
	"petstore.example/internal/server/config"
	"petstore.example/internal/storeclock"
)

// Run serves on the sockets until ctx ends, and then stops in reverse order: each deferred call
// undoes the step above it. It calls started when it accepts requests.
//
//nolint:funlen // the wiring, in order
func Run(
	ctx context.Context, build buildinfo.Info, cfg *config.Config, on *Sockets, log zerolog.Logger, started func(),
) error {
	serverID := xid.New().String()
	requests := log.With().Str("server", serverID).Logger()
	log = loglimit.Log(requests) // The API itself limits its log, requests.
	served := zerolog.Nop()
	defer func() { served.Info().Msg("stopped") }()
	defer background(log, "trim memory", trimMemory)()
	systemd := newServiceManager(ctx, log)
	defer systemd.stop()

	metrics, clock := newMetrics(build), storeclock.New()
	start := startup{
		cfg: cfg, metrics: metrics, clock: clock, serverID: serverID, log: log, waiting: systemd.waiting,
	}
	db, found, err := start.open(ctx)
	if err != nil {
		return err
	}
	defer logError(log, "close database", db.Close)

	cluster, err := newMember(ctx, string(cfg.DatabaseURL), metrics, clock, serverID, log)
	if err != nil {
		return databaseError(cfg, err)
	}
	defer logError(log, "close cluster", cluster.Close)

	tracer, stopTracing := startTracing(cfg, serverID, build.Version, metrics, log)
	defer stopTracing()
	directory, err := openDirectory(ctx, cfg, metrics, cluster, log)
	if err != nil {
		return databaseError(cfg, err)
	}
	defer logError(log, "close directory", directory.Close)
	meter, failed, stopRecording := startRecording(db, cluster, cfg.RedisURL != "", metrics, log)
	defer stopRecording()
	defer startPruning(db, string(cfg.DatabaseURL), metrics, log)()
	limiter, err := openLimiter(ctx, cfg, metrics, db, cluster, log)
	if err != nil {
		return err
	}
	defer logError(log, "close limits", limiter.Close)
	if err := limiter.join(ctx, cluster); err != nil {
		return err
	}

	strikes := strikes.New(
		strikes.Options{Bans: db.Bans, OnBan: func(b keys.Ban) { directory.TenantChanged(b.TenantID) }, Log: log},
	)
	defer strikes.Close()
	health := newHealth(db.Operation, cluster, directory.Directory, limiter, found, metrics, log)
	registerHealth(metrics, health)
	defer health.stop()

	stopWebhooks, err := startWebhooks(ctx, cfg, metrics, clock, log)
	if err != nil {
		return databaseError(cfg, err)
	}
	defer stopWebhooks()

	data := newTenantStore(db, metrics)
	customers := api.Config{
		Stores: api.Stores{
			FailedRequests: failed,
			Pets:           data,
			Orders:         data,
			Requests:       data,
			Usage:          data,
			Failed:         data,
			Plans:          db.PriceList,
			Keys:           data,
			Webhooks: api.Webhooks{
				Store: db.Endpoints, Place: data.Place, Sealer: cfg.Sealer, Rules: cfg.WebhookRules,
			},
			Invalidator: limiter.Invalidator,
			Stamps:      limiter.stamps,
			NoOldWrites: limiter.watch.Clear,
		},
		Limits: api.Limits{
			Directory:      directory,
			Limiter:        limiter.Limiter,
			Addresses:      limits.NewAddresses(cfg.AddressLimit),
			Strikes:        strikes,
			Meter:          meter,
			ListCacheBytes: cfg.ListCacheBytes,
			BodyBytes:      cfg.BodyBytes,
		},
		Site: api.Site{
			BaseURL:        cfg.BaseURL,
			Support:        problem.Support{URL: cfg.SupportURL, Email: cfg.SupportEmail, IssueKey: cfg.IssueKey},
			TrustedProxies: cfg.TrustedProxies,
		},
		Instant:  cluster.clock.Instant,
		Stopping: ctx.Done(),
		Log:      requests,
		Metrics:  metrics,
		Tracer:   tracer,
	}
	handler, err := newHandler(
		customers,
		account.Config{
			Stores: account.Stores{
				SignIns:    db.SignIns,
				Turn:       data.Run,
				Place:      data.Place,
				Failed:     data,
				FailedPage: api.ReadFailedPage,
				Sold:       db.PriceList.Sold,
				Addresses:  db.Mail,
			},
			Site:  account.Site{Environment: cfg.Keys()},
			Links: cfg.Links(),
			Now:   cluster.clock.Now,
			Log:   log,
		},
	)
	if err != nil {
		return fmt.Errorf("create the API: %w", err)
	}
	on.API = &malformedListener{on.API, api.NewMalformed(customers)}
	served = log
	return serveHTTP(ctx, cfg, on, handler, health, metrics.Registry, build, log, systemd.after(started, health, on))
}

// newHandler returns the API with the pages of customers who sign in.
func newHandler(c api.Config, a account.Config) (_ http.Handler, err error) {
	c.KeyChanges = &limits.TenantMinute{}
	a.Usage, a.Keys, a.Webhooks = c.Usage, c.Keys, c.Webhooks.Store
	a.Sealer, a.Rules = c.Webhooks.Sealer, c.Webhooks.Rules
	a.Limits = account.Limits{Limiter: c.Limiter, KeyChanges: c.KeyChanges}
	a.BaseURL, a.SupportURL, a.SupportEmail = c.BaseURL, c.Support.URL, c.Support.Email
	if c.Account, err = account.New(a); err != nil {
		return nil, err
	}
	return api.New(c)
}
