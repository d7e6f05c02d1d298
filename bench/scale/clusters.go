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

	"petstore.example/bench/limits"
	"petstore.example/bench/servers"
	"petstore.example/internal/plans"
)

const (
	clusterTime = 3 * time.Second
	// callers are at each server at the same time, or at all of them together.
	callers, callersTogether = 32, 64
	// clusterTenants call.
	clusterTenants = 64
	// maxWorkGrowth is how many times the work of one server a request may make with more: it is to stay as it is or fall.
	maxWorkGrowth = 1.1
)

func clusters(ctx context.Context, g *ground) (t *table, err error) {
	t = &table{
		title: "Servers that share a Redis",
		about: fmt.Sprintf("Limiters as each server has one, in one process over one Redis, deciding over %d tenants without a pause for %v: with %d callers at every server, and "+
			"with the same %d callers spread over all of them. *Scripts* are calls of Redis to decide; *Redis µs* is its processor time. Fewer than one script a request, "+
			"because what comes while one is under way goes together with the next, as one where it is the same tenant's. Spread, fewer meet.", clusterTenants, clusterTime, callers, callersTogether),
		head: []string{"servers", "requests/s", "scripts a request", "Redis µs a request", "spread: requests/s", "scripts a request", "Redis µs a request"},
	}
	server, err := servers.StartRedis(ctx, g.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	var each, spread []float64
	for _, n := range g.upTo(1, 2, 4, 8, 16) {
		full, err := decide(ctx, server.URL, n, callers*n)
		if err != nil {
			return nil, err
		}
		same, err := decide(ctx, server.URL, n, callersTogether)
		if err != nil {
			return nil, err
		}
		each, spread = append(each, full.micros), append(spread, same.scripts)
		t.add(strconv.Itoa(n), grouped(int64(full.rate)), figure(full.scripts), figure(full.micros),
			grouped(int64(same.rate)), figure(same.scripts), figure(same.micros))
	}
	t.growth("Redis's time a request", each, maxWorkGrowth)
	t.bound("scripts a request, callers spread", slices.Max(spread), 1)
	return t, nil
}

// work is what Redis did: rate in requests a second, the rest for one request.
type work struct{ rate, scripts, micros float64 }

// decide has so many callers ask n servers without a pause.
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
	cluster := limits.NewCluster(url)
	members := make([]plans.Limiter, n)
	for i := range members {
		l, leave, err := cluster.Join(ctx)
		if err != nil {
			return w, err
		}
		defer leave()
		members[i] = l
	}
	if _, err := ask(ctx, members, callers, clusterTime/3); err != nil { // tenants are opened, connections made
		return w, err
	}
	before, err := redisWork(ctx, client)
	if err != nil {
		return w, err
	}
	requests, err := ask(ctx, members, callers, clusterTime)
	if err != nil {
		return w, err
	}
	after, err := redisWork(ctx, client)
	return work{
		rate:    requests / clusterTime.Seconds(),
		scripts: (after.scripts - before.scripts) / requests, micros: (after.micros - before.micros) / requests,
	}, err
}

// ask returns how many requests were admitted.
func ask(ctx context.Context, members []plans.Limiter, callers int, d time.Duration) (float64, error) {
	end := time.Now().Add(d)
	var admitted atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for i := range callers {
		all.Go(func() error {
			l, n := members[i%len(members)], int64(0)
			for now := time.Now(); now.Before(end); now = time.Now() {
				claim := plans.Claim{TenantID: (int64(i)+n)%clusterTenants + 1, Quota: plans.Quota{PerMinute: 1e12, PerDay: 1e15}}
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

// redisWork reads what Redis has done since it started.
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
