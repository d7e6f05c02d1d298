package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/servers"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

const (
	clusterTime = 3 * time.Second
	// clusterCallers is the number of concurrent callers at each server, callersTogether at all servers together.
	clusterCallers, callersTogether = 32, 64
	// clusterTenants is the number of tenants.
	clusterTenants = 64
	// maxWorkGrowth bounds the work per request as a multiple of one server's.
	maxWorkGrowth = 1.1
)

func clusters(ctx context.Context, e *env) (t *table, err error) {
	t = &table{
		title: "Servers that share a Redis",
		about: fmt.Sprintf("Limiters as in the servers, in one process with one Redis, deciding continuously for %d tenants during %v: with %d callers at every server, and "+
			"with %d callers spread over all servers. *Scripts* are script calls in Redis; *Redis µs* is its CPU time. There is less than one script per request because "+
			"requests that arrive during a call are sent together in the next one, those of one tenant as one. With spread callers fewer requests coincide.", clusterTenants, clusterTime, clusterCallers, callersTogether),
		head: []string{"servers", "requests/s", "scripts per request", "Redis µs per request", "spread: requests/s", "scripts per request", "Redis µs per request"},
	}
	server, err := servers.StartRedis(ctx, e.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	var each, spread []float64
	for _, n := range e.upTo(1, 2, 4, 8, 16) {
		full, err := decide(ctx, server.URL, n, clusterCallers*n)
		if err != nil {
			return nil, err
		}
		same, err := decide(ctx, server.URL, n, callersTogether)
		if err != nil {
			return nil, err
		}
		each, spread = append(each, full.micros), append(spread, same.scripts)
		t.add(strconv.Itoa(n), withCommas(int64(full.rate)), significant(full.scripts), significant(full.micros),
			withCommas(int64(same.rate)), significant(same.scripts), significant(same.micros))
	}
	t.growth("Redis's time per request", each, maxWorkGrowth)
	t.bound("scripts per request, callers spread", slices.Max(spread), 1)
	return t, nil
}

// work is what Redis did: rate is in requests per second, the rest per request.
type work struct{ rate, scripts, micros float64 }

// decide measures n servers with so many callers that call continuously.
func decide(ctx context.Context, url string, n, callers int) (w work, err error) {
	at, err := redis.ParseURL(url)
	if err != nil {
		return w, err
	}
	client := redis.NewClient(at)
	defer client.Close()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return w, err
	}
	cluster := limitcluster.New(url)
	members := make([]limits.Limiter, n)
	for i := range members {
		l, leave, err := cluster.Join(ctx)
		if err != nil {
			return w, err
		}
		defer leave()
		members[i] = l
	}
	if _, err := takeContinuously(ctx, members, callers, clusterTime/3); err != nil { // initializes the tenants and connects
		return w, err
	}
	before, err := redisWork(ctx, client)
	if err != nil {
		return w, err
	}
	requests, err := takeContinuously(ctx, members, callers, clusterTime)
	if err != nil {
		return w, err
	}
	after, err := redisWork(ctx, client)
	return work{
		rate:    requests / clusterTime.Seconds(),
		scripts: (after.scripts - before.scripts) / requests, micros: (after.micros - before.micros) / requests,
	}, err
}

// takeContinuously returns how many requests were admitted.
func takeContinuously(ctx context.Context, members []limits.Limiter, callers int, d time.Duration) (float64, error) {
	end := time.Now().Add(d)
	var admitted atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for i := range callers {
		all.Go(func() error {
			l, n := members[i%len(members)], int64(0)
			for now := time.Now(); now.Before(end); now = time.Now() {
				claim := limits.Claim{TenantID: (int64(i)+n)%clusterTenants + 1, Quota: plans.Quota{PerMinute: 1e12, PerDay: 1e15}}
				if d := l.Take(ctx, claim, now); !d.Admitted {
					return fmt.Errorf("a request was refused: %+v", d)
				}
				n++
			}
			admitted.Add(n)
			return nil
		})
	}
	err := all.Wait()
	return float64(admitted.Load()), err
}

// redisWork returns what Redis has done since it started.
func redisWork(ctx context.Context, client *redis.Client) (w work, err error) {
	info, err := client.InfoMap(ctx, "cpu", "commandstats").Result()
	if err != nil {
		return w, err
	}
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(info["CPU"][name]), 64)
		if err != nil {
			return w, err
		}
		w.micros += seconds * 1e6
	}
	for name, stats := range info["Commandstats"] {
		if !strings.HasPrefix(name, "cmdstat_eval") && !strings.HasPrefix(name, "cmdstat_fcall") {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
		n, err := strconv.ParseFloat(calls, 64)
		if err != nil {
			return w, err
		}
		w.scripts += n
	}
	return w, nil
}
