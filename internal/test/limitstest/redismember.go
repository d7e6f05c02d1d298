package limitstest

import (
	"context"
	"sync"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits/counter"
)

// RedisMember is a server of a cluster that is always in its first term, in which the Redis that the server sees decides. It is a
// distributed.Cluster.
type RedisMember struct {
	mu    sync.RWMutex
	redis string
}

// Term returns the term in force: none until the server has seen a Redis.
func (m *RedisMember) Term() (cluster.Term, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return cluster.Term{Number: 1, First: true, Redis: m.redis, Servers: 1}, m.redis != ""
}

// Valid reports whether the term is in force.
func (m *RedisMember) Valid(number int64) bool {
	_, ok := m.Term()
	return ok && number == 1
}

// SetRedis notes the Redis that the server sees. It keeps one that was lost.
func (m *RedisMember) SetRedis(fingerprint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if fingerprint != "" {
		m.redis = fingerprint
	}
}

// Await waits until the server has seen a Redis.
func (m *RedisMember) Await(ctx context.Context) (cluster.Term, error) {
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

// StoreUnreachable returns false.
func (*RedisMember) StoreUnreachable() bool { return false }

// Saw does nothing.
func (*RedisMember) Saw(int64) {}

// Forgot does nothing: the term does not end.
func (*RedisMember) Forgot(int64) {}

// RedisTerm returns the term of a RedisMember, for a CounterStore.
func RedisTerm() (counter.Term, error) { return counter.Term{Number: 1, Redis: true, Servers: 1}, nil }
