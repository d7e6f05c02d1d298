package api

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/limitstest"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/limits/redisbackend/redistest"
)

// overRedis returns the limiters of two servers that count in one Redis.
func overRedis(t *testing.T) (limiters [2]limits.Limiter) {
	t.Helper()
	url := redistest.Shared(t)
	counters := &limitstest.CounterStore{Term: limitstest.RedisTerm}
	for i := range limiters {
		client, err := redisbackend.NewClient(url, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		limiter := distributed.New(redisbackend.New(client), distributed.Options{
			Cluster: &limitstest.RedisMember{}, Counters: counters, Log: zerolog.Nop(), Timeout: time.Second, Wait: 10 * time.Second,
		})
		limiter.Start()
		t.Cleanup(limiter.Close)
		limiters[i] = limiter
	}
	return limiters
}
