package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// run serves on the sockets until ctx ends, and then stops in order: each deferred line undoes the one above it.
// It calls started once requests are taken.
func run(ctx context.Context, cfg config, on *sockets, log zerolog.Logger, started func()) error {
	serverID := xid.New().String()
	log = log.With().Str("server", serverID).Logger()
	served := zerolog.Nop()
	defer func() { served.Info().Msg("stopped") }()
	stopTrimming := background(log, "trim memory", trimMemory)
	defer stopTrimming()

	db, err := store.Open(ctx, string(cfg.DatabaseURL), store.Options{AsAPI: true})
	if err != nil {
		return fmt.Errorf("%w (PETSTORE_DATABASE_URL)", err)
	}
	defer logError(log, "close database", db.Close)
	if err := store.CheckSchema(ctx, string(cfg.DatabaseURL)); err != nil {
		return err
	}

	directory := keys.NewDirectory(db, cfg.keys(), time.Now)
	stopListening := background(log, "hear changes", func(ctx context.Context) error {
		return store.Listen(ctx, string(cfg.DatabaseURL), directory, func() {}, log)
	})
	defer stopListening()

	meter, refusals, stopRecording := startRecording(db, serverID, log)
	defer stopRecording()

	fleet := newFleet(db, serverID)
	stopFleet := background(log, "count servers", fleet.run)
	defer stopFleet()

	stopPruning := startPruning(db, log)
	defer stopPruning()

	limits, err := openLimits(ctx, cfg, fleet, log)
	if err != nil {
		return err
	}
	defer logError(log, "close limits", limits.Close)

	strikes := limits.strikes(db, directory, log)
	defer strikes.Close()
	addresses := plans.NewAddresses(cfg.AddressLimit)

	registry := newRegistry()
	health := &health{db: db, directory: directory, limits: limits}
	health.register(registry)

	handler, err := api.New(api.Config{
		Directory: directory, Limiter: limits.Limiter, Addresses: addresses, Strikes: strikes, Meter: meter, Refusals: refusals, Pets: db, Orders: db, Requests: db, Usage: db,
		BaseURL: cfg.BaseURL, TrustedProxies: cfg.TrustedProxies, Clock: time.Now, Log: log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("make the API: %w", err)
	}
	log.Info().Str("version", versionText()).Str("addr", on.api.Addr().String()).Str("admin_addr", on.admin.Addr().String()).
		Str("environment", cfg.Environment).Bool("redis", cfg.RedisURL != "").Int("pid", os.Getpid()).Msg("serving")
	served = log
	return serveHTTP(ctx, cfg, on, handler, adminHandler(cfg, health, registry), health, log, started)
}
