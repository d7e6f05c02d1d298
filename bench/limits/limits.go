// Package limits runs the limiter over Redis without Postgres: in a cluster whose members always agree on their Redis, with counters
// that begin at 0. No request needs Postgres while Redis is available.
package limits

import (
	"context"
	"errors"
	"sync"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/plans"
)

// Cluster is a set of servers that share a Redis.
type Cluster struct {
	url      string
	counters counters
}

// NewCluster returns a cluster without servers. The Redis database must be empty.
func NewCluster(url string) *Cluster {
	return &Cluster{url: url, counters: counters{initialized: map[int64]bool{}}}
}

// Join adds a server and returns its limiter. leave closes it.
func (c *Cluster) Join(ctx context.Context) (l plans.Limiter, leave func(), err error) {
	client, err := plans.NewRedisClient(c.url, redisTimeout)
	if err != nil {
		return nil, nil, err
	}
	m := &member{}
	r := plans.NewRedis(client, plans.RedisOptions{Cluster: m, Counters: &c.counters, Timeout: redisTimeout})
	leave = func() { r.Close(); _ = client.Close() }
	if _, err := m.Await(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return r, leave, nil
}

// member is always in term 1, with the Redis that it sees.
type member struct {
	mu    sync.RWMutex
	redis string
}

var _ plans.Cluster = (*member)(nil)

const term = 1

// redisTimeout is long, so that a busy machine does not count as a lost Redis.
const redisTimeout = 5 * time.Second

func (m *member) Term() (cluster.Term, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return cluster.Term{Number: term, Redis: m.redis, Servers: 1}, m.redis != ""
}

func (m *member) Valid(number int64) bool {
	_, ok := m.Term()
	return ok && number == term
}

func (m *member) SetRedis(fingerprint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redis = fingerprint
}

func (m *member) Await(ctx context.Context) (cluster.Term, error) {
	for {
		if t, ok := m.Term(); ok {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return cluster.Term{}, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (*member) StoreUnreachable() bool                                    { return false }
func (*member) OnEnd(func(ctx context.Context, ended cluster.Term) error) {}

// counters knows which tenants have been initialized.
type counters struct {
	mu          sync.Mutex
	initialized map[int64]bool
}

var _ plans.CounterStore = (*counters)(nil)

func (c *counters) Initialize(_ context.Context, o plans.InitRequest) (plans.Baseline, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := !c.initialized[o.TenantID]
	c.initialized[o.TenantID] = true
	return plans.Baseline{Day: plans.DayAt(o.At)}, fresh, nil
}

func (*counters) Report(context.Context, []plans.Report) error { return nil }

func (*counters) Grant(context.Context, plans.GrantRequest) (plans.Grant, error) {
	return plans.Grant{}, errors.New("lost Redis during a measurement")
}
