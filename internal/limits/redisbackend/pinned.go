package redisbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

var errOtherRedis = errors.New("redis: it is not the same process as before")

// Pin implements distributed.Backend.
func (s *Backend) Pin(fingerprint string) {
	var next *redis.UniversalClient
	if fingerprint != "" {
		client := s.client.pinnedTo(strings.Split(fingerprint, ","))
		next = &client
	}
	if last := s.pinned.Swap(next); last != nil {
		_ = (*last).Close()
	}
}

// reach returns the client to ping with.
func (s *Backend) reach() redis.UniversalClient {
	if c := s.pinned.Load(); c != nil {
		return *c
	}
	return s.client.UniversalClient
}

// pinnedTo returns a client that refuses connections to servers with other run IDs.
func (c *Client) pinnedTo(runIDs []string) redis.UniversalClient {
	o := *c.options
	// A cluster's client would repeat a call whose reply was lost, and so give the same request back twice.
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

// clusterRunIDs returns the run IDs of all masters, sorted.
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

// runID returns the run ID of a server, which must be a master.
func runID(ctx context.Context, client interface {
	Info(ctx context.Context, section ...string) *redis.StringCmd
}) (string, error) {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return "", err
	}
	id, role := infoField(info, "run_id:"), infoField(info, "role:")
	if id == "" || role != "master" {
		return "", fmt.Errorf("redis: the role is %q, not master", role)
	}
	return id, nil
}

func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name)
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
