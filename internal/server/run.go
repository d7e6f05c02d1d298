package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"petstore.example/internal/account"
	"petstore.example/internal/api"
	"petstore.example/internal/connlimit"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/loglimit"
	"petstore.example/internal/storeclock"
)

// run serves on the sockets until ctx ends, and then stops in reverse order: each deferred call
// undoes the step above it. It calls started when it accepts requests.
//
//nolint:funlen // the wiring, in order
func run(ctx context.Context, cfg config, on *sockets, log zerolog.Logger, started func()) error {
	serverID := xid.New().String()
	requests := log.With().Str("server", serverID).Logger()
	log = loglimit.Log(requests) // The API limits its own lines.
	served := zerolog.Nop()
	defer func() { served.Info().Msg("stopped") }()
	defer background(log, "trim memory", trimMemory)()
	systemd := newServiceManager(ctx, log)
	defer systemd.stop()

	cfg.waiting = systemd.waiting
	metrics, clock := newMetrics(), storeclock.New()
	db, found, err := openDatabase(ctx, cfg, metrics, clock, serverID, log)
	if err != nil {
		return err
	}
	defer logError(log, "close database", db.Close)

	cluster, err := newMember(ctx, string(cfg.DatabaseURL), metrics, clock, serverID, log)
	if err != nil {
		return cfg.databaseError(err)
	}
	defer logError(log, "close cluster", cluster.Close)

	tracer, stopTracing := startTracing(cfg, serverID, metrics, log)
	defer stopTracing()
	directory, err := openDirectory(ctx, cfg, metrics, cluster, log)
	if err != nil {
		return cfg.databaseError(err)
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
	defer health.stop()

	data := newTenantStore(db, metrics)
	customers := api.Config{
		Directory:      directory,
		Limiter:        limiter.Limiter,
		Addresses:      limits.NewAddresses(cfg.AddressLimit),
		Strikes:        strikes,
		Meter:          meter,
		FailedRequests: failed,
		Pets:           data,
		Orders:         data,
		Requests:       data,
		Usage:          data,
		Failed:         data,
		Plans:          db.PriceList,
		Keys:           data,
		Invalidator:    limiter.Invalidator,
		Stamps:         limiter.stamps,
		NoOldWrites:    limiter.watch.Clear,
		ListCacheBytes: cfg.ListCacheBytes,
		BodyBytes:      cfg.BodyBytes,
		BaseURL:        cfg.BaseURL,
		Support:        api.Support{URL: cfg.SupportURL, Email: cfg.SupportEmail, IssueKey: cfg.issueKey},
		TrustedProxies: cfg.TrustedProxies,
		Instant:        cluster.clock.Instant,
		Stopping:       ctx.Done(),
		Log:            requests,
		Metrics:        metrics,
		Tracer:         tracer,
	}
	handler, err := newHandler(
		customers,
		account.Config{
			SignIns:     db.SignIns,
			Turn:        data.Run,
			Place:       data.Place,
			Failed:      data,
			FailedPage:  api.FailedPage,
			Sold:        db.PriceList.Sold,
			Environment: cfg.keys(),
			Now:         cluster.clock.Now,
			Log:         log,
		},
	)
	if err != nil {
		return fmt.Errorf("create the API: %w", err)
	}
	on.api = &malformedListener{on.api, api.NewMalformed(customers)}
	served = log
	return serveHTTP(ctx, cfg, on, handler, health, metrics.Registry, log, systemd.after(started, health, on))
}

// newHandler returns the API with the pages of customers who sign in.
func newHandler(c api.Config, a account.Config) (_ http.Handler, err error) {
	c.KeyChanges = &limits.TenantMinute{}
	a.KeyChanges, a.Limiter, a.Usage, a.Keys, a.BaseURL, a.SupportURL, a.SupportEmail = c.KeyChanges, c.Limiter,
		c.Usage, c.Keys, c.BaseURL, c.Support.URL, c.Support.Email
	if c.Account, err = account.New(a); err != nil {
		return nil, err
	}
	return api.New(c)
}

func logServing(log zerolog.Logger, cfg config, on *sockets, connections connlimit.Limits) {
	log.Info().Str(
		"version",
		versionText(),
	).Str(
		"addr",
		on.api.Addr().String(),
	).Str(
		"admin_addr",
		on.admin.Addr().String(),
	).
		Int(
			"max_connections",
			connections.Total,
		).Int(
		"max_connections_per_address",
		connections.PerAddress,
	).
		Str(
			"environment",
			cfg.Environment,
		).Bool(
		"redis",
		cfg.RedisURL != "",
	).Int(
		"pid",
		os.Getpid(),
	).Msg("serving")
}
