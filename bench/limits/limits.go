// Package limits gives measurements the limiter over Redis by itself: a cluster that always agrees on the Redis that its members see,
// and counters that begin at nothing. Postgres, which petstore has for both, is asked by no request while Redis decides.
package limits

import (
	"context"
	"errors"
	"sync"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/plans"
)

// Cluster is servers that share a Redis.
type Cluster struct {
	url      string
	counters counters
}

// NewCluster returns a cluster without servers over the Redis of that URL, in which nothing was counted yet.
func NewCluster(url string) *Cluster {
	return &Cluster{url: url, counters: counters{opened: map[int64]bool{}}}
}

// Join returns the limiter of one more server. Close it with leave.
func (f *Cluster) Join(ctx context.Context) (l plans.Limiter, leave func(), err error) {
	client, err := plans.NewRedisClient(f.url, patience)
	if err != nil {
		return nil, nil, err
	}
	m := &member{}
	r := plans.NewRedis(client, plans.RedisOptions{Cluster: m, Counters: &f.counters, Timeout: patience})
	leave = func() { r.Close(); _ = client.Close() }
	if _, err := m.Await(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return r, leave, nil
}

// member is in a term by the Redis that it sees, the first one.
type member struct {
	mu    sync.RWMutex
	redis string
}

var _ plans.Cluster = (*member)(nil)

const term = 1

// patience is long, so that a busy machine is measured as slow and not taken for a lost Redis.
const patience = 5 * time.Second

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

// counters knows which tenants were opened.
type counters struct {
	mu     sync.Mutex
	opened map[int64]bool
}

var _ plans.CounterStore = (*counters)(nil)

func (g *counters) Initialize(_ context.Context, o plans.InitRequest) (plans.Baseline, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fresh := !g.opened[o.TenantID]
	g.opened[o.TenantID] = true
	return plans.Baseline{Day: plans.DayAt(o.At)}, fresh, nil
}

func (*counters) Report(context.Context, []plans.Report) error { return nil }

func (*counters) Grant(context.Context, plans.GrantRequest) (plans.Grant, error) {
	return plans.Grant{}, errors.New("lost Redis during a measurement")
}
