package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"

	"petstore.example/internal/freshness"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const seedTimeout = time.Minute

// limits is the limiter and what it counts in: Redis if one is configured, otherwise this process's memory.
type limits struct {
	plans.Limiter
	freshness.Invalidator
	redis  *plans.Redis
	client redis.UniversalClient
}

func openLimits(ctx context.Context, cfg config, db *store.DB, cluster *member, log zerolog.Logger) (*limits, error) {
	if cfg.RedisURL == "" {
		stamps := freshness.NewMemory(cluster.sole)
		memory, err := seededMemory(ctx, string(cfg.DatabaseURL), stamps)
		return &limits{Limiter: memory, Invalidator: stamps}, err
	}
	client, err := plans.NewRedisClient(string(cfg.RedisURL), cfg.RedisTimeout)
	if err != nil {
		return nil, fmt.Errorf("PETSTORE_REDIS_URL: %w", err)
	}
	shared := plans.NewRedis(client, plans.RedisOptions{Cluster: cluster, Counters: db.Counters, Log: log, Timeout: cfg.RedisTimeout})
	return &limits{Limiter: shared, Invalidator: shared, redis: shared, client: client}, nil
}

// strikes counts strikes in the same place as the limits. This server enforces a new ban at once.
func (l *limits) strikes(db *store.DB, directory *callers.Directory, log zerolog.Logger) *strikes.Counter {
	o := strikes.Options{Bans: db.Bans, OnBan: func(b keys.Ban) { directory.TenantChanged(b.TenantID) }, Log: log}
	if l.redis != nil {
		o.OpenShared = func() (limiter.Store, error) {
			return redisstore.NewStoreWithOptions(l.client, limiter.StoreOptions{Prefix: "pst:strikes"})
		}
	}
	return strikes.New(o)
}

// seededMemory returns an in-memory limiter that starts with the recorded usage of the current day.
func seededMemory(ctx context.Context, databaseURL string, stamps *freshness.Memory) (*plans.Memory, error) {
	// The sum over many keys takes longer than the timeout for requests.
	db, err := store.Open(ctx, databaseURL, store.Options{AsAPI: true, MaxConns: 1, Timeout: seedTimeout})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	memory, now := plans.NewMemory(plans.WithStamps(stamps)), time.Now()
	used, err := db.Usage.AdmittedOn(ctx, plans.DayAt(now))
	if err != nil {
		return nil, fmt.Errorf("read today's usage: %w", err)
	}
	for tenantID, n := range used {
		memory.Seed(tenantID, plans.DayAt(now), n)
	}
	return memory, nil
}

// state returns none if no Redis is configured, up if Redis decides over limits, and otherwise down.
func (l *limits) state() string {
	if l.redis == nil {
		return "none"
	}
	if degraded, _ := l.redis.Degraded(); degraded {
		return "down"
	}
	return "up"
}

// Close stops the limiter and closes its Redis connections. It writes nothing: usage reported at the end of a term is in Postgres.
func (l *limits) Close() error {
	if l.redis == nil {
		return nil
	}
	l.redis.Close()
	return l.client.Close()
}
