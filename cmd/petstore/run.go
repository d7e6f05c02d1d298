package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/connlimit"
	"petstore.example/internal/limits"
)

// run serves on the sockets until ctx ends, and then stops in reverse order: each deferred call undoes the step above it. It calls
// started when it accepts requests.
func run(ctx context.Context, cfg config, on *sockets, log zerolog.Logger, started func()) error {
	serverID := xid.New().String()
	log = log.With().Str("server", serverID).Logger()
	served := zerolog.Nop()
	defer func() { served.Info().Msg("stopped") }()
	stopTrimming := background(log, "trim memory", trimMemory)
	defer stopTrimming()

	db, found, err := openDatabase(ctx, cfg, serverID, log)
	if err != nil {
		return err
	}
	defer logError(log, "close database", db.Close)

	cluster, err := newMember(ctx, string(cfg.DatabaseURL), serverID, log)
	if err != nil {
		return err
	}
	defer logError(log, "close cluster", cluster.Close)

	registry := newRegistry()
	relay := db.Relay(serverID)
	directory, err := openDirectory(ctx, cfg, cluster, relay, registry, log)
	if err != nil {
		return err
	}
	defer logError(log, "close directory", directory.Close)

	meter, refusals, stopRecording := startRecording(db, cluster, cfg.RedisURL != "", log)
	defer stopRecording()

	stopPruning := startPruning(db, log)
	defer stopPruning()

	limiter, err := openLimiter(ctx, cfg, db, cluster, relay, log)
	if err != nil {
		return err
	}
	defer logError(log, "close limits", limiter.Close)
	cluster.join(ctx)

	strikes := limiter.strikes(db, directory.Directory, log)
	defer strikes.Close()

	health := newHealth(db, cluster, directory.Directory, limiter, found, registry, log)
	defer health.stop()

	data := newTenantStore(db, registry)
	handler, err := api.New(api.Config{
		Directory: directory, Limiter: limiter.Limiter, Addresses: limits.NewAddresses(cfg.AddressLimit), Strikes: strikes, Meter: meter, Refusals: refusals,
		Pets: data, Orders: data, Requests: data, Usage: data,
		Invalidator: limiter.Invalidator, ListCacheBytes: cfg.ListCacheBytes, BodyBytes: cfg.BodyBytes,
		BaseURL: cfg.BaseURL, TrustedProxies: cfg.TrustedProxies, Instant: cluster.clock.Instant, Log: log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("create the API: %w", err)
	}
	served = log
	return serveHTTP(ctx, cfg, on, handler, health, registry, log, started)
}

func logServing(log zerolog.Logger, cfg config, on *sockets, connections connlimit.Limits) {
	log.Info().Str("version", versionText()).Str("addr", on.api.Addr().String()).Str("admin_addr", on.admin.Addr().String()).
		Int("max_connections", connections.Total).Int("max_connections_per_address", connections.PerAddress).
		Str("environment", cfg.Environment).Bool("redis", cfg.RedisURL != "").Int("pid", os.Getpid()).Msg("serving")
}
