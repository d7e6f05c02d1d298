package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	serversTime = 3 * time.Second
	// callersEach is the number of concurrent callers at each server, callersTogether that of all
	// servers together.
	callersEach, callersTogether = 32, 64
	tenantsOfServers             = 64
	// redisTimeout is long, so that a busy machine does not count as a lost Redis.
	redisTimeout = 5 * time.Second
)

func serversPart(ctx context.Context, e *env) *table {
	t := &table{head: []string{"servers", "requests/s", "scripts per request", "Redis µs per request",
		"spread: requests/s", "scripts per request", "Redis µs per request"}}
	for _, n := range e.upTo(1, 2, 4, 8, 16) {
		url := e.database(ctx, "servers", n)
		fillKeys(ctx, url, tenantsOfServers, 1)
		server, redisURL, err := servers.StartRedis(ctx, e.dir)
		must.Do(err)
		e.Cleanup(server.Stop)
		var all []*distributed.Limiter
		for i := range n {
			all = append(all, e.join(ctx, url, redisURL, "server-"+strconv.Itoa(i)))
		}
		cells := []string{strconv.Itoa(n)}
		for _, callers := range []int{callersEach * n, callersTogether} {
			w := decide(ctx, all, redisURL, callers)
			cells = append(cells, withCommas(int(w.rate)), significant(w.scripts), significant(w.micros))
		}
		t.add(cells...)
		must.Do(e.TearDown(ctx))
	}
	return t
}

// join adds a server. Its limiter, member of the cluster and connections are as in petstore serve.
// It leaves in TearDown.
func (e *env) join(ctx context.Context, url, redisURL, id string) *distributed.Limiter {
	db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 4}))
	e.Cleanup(func(context.Context) error { return db.Close() })
	client := must.Get(redisbackend.NewClient(redisURL, redisTimeout))
	e.Cleanup(func(context.Context) error { return client.Close() })
	member := cluster.NewMember(db.Cluster, cluster.Options{ServerID: id, Log: zerolog.Nop()})
	limiter := distributed.New(redisbackend.New(client), distributed.Options{
		Cluster: member, Counters: db.Counters, Log: zerolog.Nop(), Timeout: redisTimeout,
	})
	limiter.Start()
	e.Cleanup(func(context.Context) error { limiter.Close(); return nil })
	running, leave := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = member.Run(running) })
	e.Cleanup(func(context.Context) error { leave(); all.Wait(); return nil })
	for term, ok := member.Term(); !ok || term.Redis == ""; term, ok = member.Term() {
		must.Do(ctx.Err())
		time.Sleep(time.Millisecond) // until the server counts in Redis
	}
	return limiter
}

// work is the work of Redis. rate is in requests per second, the rest is per request.
type work struct{ rate, scripts, micros float64 }

// decide measures that many callers, which call continuously.
func decide(ctx context.Context, all []*distributed.Limiter, redisURL string, callers int) work {
	client := redis.NewClient(must.Get(redis.ParseURL(redisURL)))
	defer client.Close()
	takeContinuously(ctx, all, callers, serversTime/3) // connects, and initializes the tenants
	before := redisWork(ctx, client)
	requests := takeContinuously(ctx, all, callers, serversTime)
	after := redisWork(ctx, client)
	return work{requests / serversTime.Seconds(),
		(after.scripts - before.scripts) / requests, (after.micros - before.micros) / requests}
}

// takeContinuously returns the number of admitted requests.
func takeContinuously(ctx context.Context, limiters []*distributed.Limiter, callers int, d time.Duration) float64 {
	end := time.Now().Add(d)
	var admitted atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for i := range callers {
		all.Go(func() error {
			for n := i; time.Now().Before(end); n++ {
				claim := limits.Claim{
					TenantID: int64(n%tenantsOfServers) + 1, Quota: plans.Quota{PerMinute: 1e9, PerDay: 1e12},
				}
				if d := limiters[i%len(limiters)].Take(ctx, claim, time.Now()); !d.Admitted {
					return fmt.Errorf("a request was refused: %+v", d)
				}
				admitted.Add(1)
			}
			return nil
		})
	}
	must.Do(all.Wait())
	return float64(admitted.Load())
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
