package api

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/plans"
	"petstore.example/internal/plans/redistest"
)

// united is a cluster of servers that agreed once on the Redis that they all see.
type united struct {
	mu    sync.Mutex
	redis string
}

func (u *united) Term() (cluster.Term, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return cluster.Term{Number: 1, Redis: u.redis, Servers: 2}, u.redis != ""
}

func (u *united) Valid(number int64) bool {
	t, ok := u.Term()
	return ok && t.Number == number
}

func (*united) StoreUnreachable() bool { return false }

func (u *united) Await(ctx context.Context) (cluster.Term, error) {
	for {
		if t, ok := u.Term(); ok {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return cluster.Term{}, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (u *united) SetRedis(fingerprint string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if fingerprint != "" {
		u.redis = fingerprint
	}
}

func (*united) OnEnd(func(context.Context, cluster.Term) error) {}

// virgin is a counter store in which nothing was used before.
type virgin struct {
	mu    sync.Mutex
	bases map[int64]plans.Baseline
}

func (*virgin) Report(context.Context, []plans.Report) error { return nil }

func (g *virgin) Initialize(ctx context.Context, o plans.InitRequest) (plans.Baseline, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	base, known := g.bases[o.TenantID]
	if !known {
		d := plans.NewMemory().Peek(ctx, o.Claim, o.At)
		base = plans.Baseline{Minute: d.Minute.Number, Day: d.Day.Number}
		g.bases[o.TenantID] = base
	}
	return base, !known, nil
}

func (*virgin) Grant(context.Context, plans.GrantRequest) (plans.Grant, error) {
	return plans.Grant{}, errors.New("Redis decides")
}

// overRedis returns the limiters of two servers that count in one Redis.
func overRedis(t *testing.T) (limiters [2]plans.Limiter) {
	t.Helper()
	url := redistest.Shared(t)
	counters := &virgin{bases: map[int64]plans.Baseline{}}
	for i := range limiters {
		client, err := plans.NewRedisClient(url, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		limiter := plans.NewRedis(client, plans.RedisOptions{Cluster: &united{}, Counters: counters, Log: zerolog.Nop(), Timeout: time.Second, Wait: 10 * time.Second})
		t.Cleanup(limiter.Close)
		limiters[i] = limiter
	}
	return limiters
}
