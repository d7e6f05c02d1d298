package redisbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

var errOtherRedis = errors.New("redis: it is not the same process as before")

// Pin implements distributed.Backend.
func (s *Backend) Pin(fingerprint string) {
	var next *redis.UniversalClient
	if processes, ok := strings.CutPrefix(fingerprint, s.place()); ok {
		client := s.client.pinnedTo(strings.Split(processes, ","))
		next = &client
	}
	if last := s.pinned.Swap(next); last != nil {
		_ = (*last).Close()
	}
}

// place is the part of a fingerprint that says where in Redis this program counts: the layout and
// the database.
func (s *Backend) place() string {
	return "layout " + layout + ", database " + strconv.Itoa(s.client.options.DB) + ": "
}

// reach returns the client to ping with.
func (s *Backend) reach() redis.UniversalClient {
	if c := s.pinned.Load(); c != nil {
		return *c
	}
	return s.client.UniversalClient
}

// pinnedTo returns a client that refuses connections to other processes.
func (c *Client) pinnedTo(processes []string) redis.UniversalClient {
	o := *c.options
	// A cluster's client would repeat a call whose reply was lost, and so refund the same request
	// twice.
	o.MaxRedirects = -1
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		process, err := processOf(ctx, conn)
		if err == nil && process != sentinel && !slices.Contains(processes, process) {
			err = errOtherRedis
		}
		return err
	}
	client := redis.NewUniversalClient(&o)
	if c.observe != nil {
		client.AddHook(c.observe)
	}
	return client
}

// clusterProcesses returns the processes of all masters, sorted.
func clusterProcesses(ctx context.Context, cluster *redis.ClusterClient) (string, error) {
	var mu sync.Mutex
	var all []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		process, err := processOf(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, process)
		return err
	})
	slices.Sort(all)
	return strings.Join(all, ","), err
}

// sentinel stands for the process of a sentinel: the client connects to sentinels with the same
// options as to servers.
const sentinel = "sentinel"

// oldest is the oldest Redis that the scripts are tested with.
var oldest = [2]int{6, 2}

// processOf identifies a server's process, and its time as a master: by its run ID, and its
// replication ID, which changes when a replica becomes a master. So a master that was a replica for
// a while is noticed even if its process is the same: its data may be older.
func processOf(ctx context.Context, client interface {
	Info(ctx context.Context, section ...string) *redis.StringCmd
}) (string, error) {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return "", err
	}
	if infoField(info, "redis_mode:") == "sentinel" {
		return sentinel, nil
	}
	if version := infoField(info, "redis_version:"); older(version) {
		return "", fmt.Errorf("redis: its version is %s: %d.%d or newer is required", version, oldest[0], oldest[1])
	}
	id, role := infoField(info, "run_id:"), infoField(info, "role:")
	if id == "" || role != "master" {
		return "", fmt.Errorf("redis: the role is %q, %w", role, errNotMaster)
	}
	return fmt.Sprintf("%.16s/%.16s", id, infoField(info, "master_replid:")), nil
}

// older reports whether a version is too old. A server that does not tell its version is tried.
func older(version string) bool {
	var v [2]int
	if n, _ := fmt.Sscanf(version, "%d.%d", &v[0], &v[1]); n < 2 {
		return false
	}
	return slices.Compare(v[:], oldest[:]) < 0
}

func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name)
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
