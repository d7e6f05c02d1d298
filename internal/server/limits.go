package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
)

const seedTimeout = time.Minute

// rateLimiter is the limiter, with the place where it counts: Redis if one is configured, else this
// process's memory.
type rateLimiter struct {
	limits.Limiter
	freshness.Invalidator
	// stamps returns a tenant's present stamps; nil with Redis.
	stamps func(tenantID int64) (current, existing freshness.Stamp)
	redis  *distributed.Limiter
	client redis.UniversalClient
	// setBy is the variable that set the URL of Redis.
	setBy string
	watch *freshness.Watch
	// stopWatching stops the watch, and the repeated announcements of writes.
	stopWatching []func()
}

func openLimiter(
	ctx context.Context,
	cfg *config.Config,
	m *registry,
	db *store.DB,
	cluster *member,
	log zerolog.Logger,
) (*rateLimiter, error) {
	if cfg.RedisURL == "" {
		stamps := freshness.NewMemory(cluster.sole)
		memory, err := seededMemory(ctx, string(cfg.DatabaseURL), stamps, cluster.clock.Now())
		if err != nil {
			return nil, databaseError(cfg, err)
		}
		l := &rateLimiter{Limiter: memory, stamps: stamps.Stamps}
		l.watchWrites(stamps, db, log)
		return l, nil
	}
	client, err := redisbackend.NewClient(string(cfg.RedisURL), cfg.RedisTimeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.SetBy(config.RedisVariable, cfg.RedisURLFile), err)
	}
	client.Observe(observing(m.redis, func(error) bool { return true }))
	shared := distributed.New(redisbackend.New(client), distributed.Options{
		Cluster: cluster, Counters: db.Counters, Log: log, Timeout: cfg.RedisTimeout, Instant: cluster.clock.Now,
	})
	l := &rateLimiter{
		Limiter: shared,
		redis:   shared,
		client:  client,
		setBy:   config.SetBy(config.RedisVariable, cfg.RedisURLFile),
	}
	shared.Start()
	if err := shared.Lost(); err != nil {
		log.Warn().Err(explained(l.setBy, err)).Msg("limits: Redis can't count now")
	}
	l.watchWrites(shared.Invalidator(), db, log)
	return l, nil
}

// watchWrites announces writes with announce, and looks for writes that last too long.
func (l *rateLimiter) watchWrites(announce freshness.Invalidator, db *store.DB, log zerolog.Logger) {
	outcomes := freshness.NewLateWrites(announce)
	l.Invalidator, l.watch = outcomes, freshness.NewWatch(db.Transactions)
	l.stopWatching = []func(){
		background(
			log,
			"announce late writes",
			outcomes.Run,
		),
		background(log, "look for writes that last too long", l.watch.Run),
	}
}

// seededMemory returns an in-memory limiter that starts with the recorded usage of the current day
// and month.
func seededMemory(
	ctx context.Context,
	databaseURL string,
	stamps *freshness.Memory,
	now time.Time,
) (*limits.Memory, error) {
	// Summing over many keys takes longer than the timeout for requests.
	db, err := store.Open(ctx, databaseURL, store.Options{AsAPI: true, MaxConns: 1, Timeout: seedTimeout})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	memory := limits.NewMemory(limits.WithStamps(stamps))
	used, err := db.Usage.AdmittedOn(ctx, limits.DayAt(now))
	if err != nil {
		return nil, fmt.Errorf("read today's usage: %w", err)
	}
	for tenantID, n := range used {
		memory.Seed(tenantID, limits.DayAt(now), n)
	}
	if used, err = db.Usage.AdmittedInMonth(ctx, limits.MonthAt(now)); err != nil {
		return nil, fmt.Errorf("read this month's usage: %w", err)
	}
	for tenantID, n := range used {
		memory.SeedMonth(tenantID, limits.MonthAt(now), n)
	}
	return memory, nil
}

// state returns none if no Redis is configured, up if Redis decides limits, cut_off if only this
// server can't reach it, otherwise down.
func (l *rateLimiter) state() string {
	switch {
	case l.redis == nil:
		return "none"
	case l.redis.Degraded():
		return "down"
	case l.redis.CutOff() != nil:
		return "cut_off"
	}
	return "up"
}

// noMonths reports whether no month is enforced, because a server of the last release is alive.
func (l *rateLimiter) noMonths() bool { return l.redis != nil && l.redis.NoMonths() }

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

// join joins the cluster. It returns an error if other servers count in Redis and this one is
// misconfigured: it has the URL of another Redis, or its login is refused.
func (l *rateLimiter) join(ctx context.Context, m *member) error {
	m.join(ctx)
	if l.redis == nil {
		return nil
	}
	if err := l.redis.CutOff(); errors.Is(err, distributed.ErrOtherRedis) || redisbackend.IsRefused(err) {
		return explained(l.setBy, fmt.Errorf("other servers count limits in Redis, and this one can't: %w", err))
	}
	return nil
}

// decides reports whether this server can decide limits now.
func (l *rateLimiter) decides() bool { return l.redis == nil || l.redis.Decides() }

// Close stops the limiter and closes its Redis connections.
func (l *rateLimiter) Close() error {
	for _, stop := range l.stopWatching {
		stop()
	}
	if l.redis == nil {
		return nil
	}
	l.redis.Close()
	return l.client.Close()
}
