// Package limitcluster runs the limiter over Redis without Postgres: in a cluster whose members always agree on their Redis, with counters
// that begin at 0. No request needs Postgres while Redis is available.
package limitcluster

import (
	"context"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/test/limitstest"
)

// redisTimeout is long, so that a busy machine does not count as a lost Redis.
const redisTimeout = 5 * time.Second

// Cluster is a set of servers that share a Redis.
type Cluster struct {
	url      string
	counters limitstest.CounterStore
}

// New returns a cluster without servers. The Redis database must be empty.
func New(url string) *Cluster {
	return &Cluster{url: url, counters: limitstest.CounterStore{Term: limitstest.RedisTerm}}
}

// Join adds a server and returns its limiter. leave closes it.
func (c *Cluster) Join(ctx context.Context) (l limits.Limiter, leave func(), err error) {
	client, err := redisbackend.NewClient(c.url, redisTimeout)
	if err != nil {
		return nil, nil, err
	}
	m := &limitstest.RedisMember{}
	shared := distributed.New(redisbackend.New(client), distributed.Options{Cluster: m, Counters: &c.counters, Timeout: redisTimeout})
	shared.Start()
	leave = func() { shared.Close(); _ = client.Close() }
	if _, err := m.Await(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return shared, leave, nil
}
