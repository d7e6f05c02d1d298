package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/must"
)

const (
	clusterTime = 3 * time.Second
	// clusterCallers is the number of concurrent callers at each server, callersTogether at all
	// servers together.
	clusterCallers, callersTogether = 32, 64
	// clusterTenants is the number of tenants.
	clusterTenants = 64
	// maxWorkGrowth bounds the work per request as a multiple of one server's.
	maxWorkGrowth = 1.1
)

func clusters(ctx context.Context, e *env) *table {
	t := &table{
		title: "Servers that share a Redis",
		about: fmt.Sprintf(
			"Limiters and cluster members as in the servers, in one process with one Redis and one Postgres, "+
				"deciding continuously for %d tenants during %v: with %d callers at every server, and "+
				"with %d callers spread over all servers. *Scripts* are script calls in Redis; *Redis µs* is its "+
				"CPU time. There is less than one script per request because "+
				"requests that arrive during a call are sent together in the next one, those of one tenant as one. "+
				"With spread callers fewer requests coincide.",
			clusterTenants,
			clusterTime,
			clusterCallers,
			callersTogether,
		),
		head: []string{
			"servers",
			"requests/s",
			"scripts per request",
			"Redis µs per request",
			"spread: requests/s",
			"scripts per request",
			"Redis µs per request",
		},
	}
	var each, spread []float64
	for _, n := range e.upTo(1, 2, 4, 8, 16) {
		cells := []string{strconv.Itoa(n)}
		f := &serverCluster{env: e, servers: n, tenants: clusterTenants}
		f.start(ctx)
		full, together := f.decide(ctx, clusterCallers*n), f.decide(ctx, callersTogether)
		must.Do(e.TearDown(ctx))
		for _, w := range []work{full, together} {
			cells = append(cells, withCommas(int64(w.rate)), significant(w.scripts), significant(w.micros))
		}
		each, spread = append(each, full.micros), append(spread, together.scripts)
		t.add(cells...)
	}
	t.growth("Redis's time per request", each, maxWorkGrowth)
	t.bound("scripts per request, callers spread", slices.Max(spread), 1)
	return t
}

// work is what Redis did: rate is in requests per second, the rest per request.
type work struct{ rate, scripts, micros float64 }

// decide measures so many callers that call continuously.
func (f *serverCluster) decide(ctx context.Context, callers int) work {
	client := redis.NewClient(must.Get(redis.ParseURL(f.redisURL)))
	defer client.Close()
	must.Get(f.takeContinuously(ctx, callers, clusterTime/3)) // initializes the tenants and connects
	before := redisWork(ctx, client)
	requests := must.Get(f.takeContinuously(ctx, callers, clusterTime))
	after := redisWork(ctx, client)
	return work{
		requests / clusterTime.Seconds(),
		(after.scripts - before.scripts) / requests,
		(after.micros - before.micros) / requests,
	}
}

// takeContinuously returns how many requests were admitted.
func (f *serverCluster) takeContinuously(ctx context.Context, callers int, d time.Duration) (float64, error) {
	end := time.Now().Add(d)
	var admitted atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for i := range callers {
		all.Go(func() error {
			l, n := f.all[i%len(f.all)], int64(0)
			for now := time.Now(); now.Before(end); now = time.Now() {
				if d := l.Take(ctx, unlimited((int64(i)+n)%clusterTenants+1), now); !d.Admitted {
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
func redisWork(ctx context.Context, client *redis.Client) (w work) {
	info := must.Get(client.InfoMap(ctx, "cpu", "commandstats").Result())
	number := func(text string) float64 { return must.Get(strconv.ParseFloat(strings.TrimSpace(text), 64)) }
	w.micros = 1e6 * (number(info["CPU"]["used_cpu_user"]) + number(info["CPU"]["used_cpu_sys"]))
	for name, stats := range info["Commandstats"] {
		if strings.HasPrefix(name, "cmdstat_eval") || strings.HasPrefix(name, "cmdstat_fcall") {
			calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
			w.scripts += number(calls)
		}
	}
	return w
}
