package plans

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

var errOtherRedis = errors.New("redis: this is another process than before")

// expect implements counters.
func (s *redisCounters) expect(fingerprint string) {
	var next *redis.UniversalClient
	if fingerprint != "" {
		client := s.client.checked(strings.Split(fingerprint, ","))
		next = &client
	}
	if last := s.checked.Swap(next); last != nil {
		_ = (*last).Close()
	}
}

// reach returns the client to probe through.
func (s *redisCounters) reach() redis.UniversalClient {
	if c := s.checked.Load(); c != nil {
		return *c
	}
	return s.client.UniversalClient
}

// checked returns a client that refuses connections to servers of other run ids.
func (c *RedisClient) checked(runIDs []string) redis.UniversalClient {
	o := *c.options
	// A cluster's client would repeat a call whose answer was lost, and so give the same request back twice.
	o.MaxRedirects = -1
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		id, err := runID(ctx, conn)
		if err == nil && !slices.Contains(runIDs, id) {
			err = errOtherRedis
		}
		return err
	}
	return redis.NewUniversalClient(&o)
}

// clusterRunIDs returns the run ids of all masters, sorted.
func clusterRunIDs(ctx context.Context, cluster *redis.ClusterClient) (string, error) {
	var mu sync.Mutex
	var ids []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		id, err := runID(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
		return err
	})
	slices.Sort(ids)
	return strings.Join(ids, ","), err
}
