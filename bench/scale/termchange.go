package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/servers"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

const (
	changeServers, changeCallers = 3, 64
	// steadyTime is measured before the change, afterChange after the first request of the second term.
	steadyTime, afterChange = 2 * time.Second, 4 * time.Second
	// maxChangePause bounds the time without an admitted request, at both changes of term.
	maxChangePause = 500 * time.Millisecond
)

func termChanges(ctx context.Context, e *env) (*table, error) {
	t := &table{
		title: "Changes of term with many tenants",
		about: fmt.Sprintf("%d servers in one process, with one Postgres and one Redis. Every server has served every tenant. Then Redis loses its counters: Postgres counts, and a second later Redis "+
			"does again. %d callers send requests for random tenants continuously, so the first ones of each term are for tenants that it has not seen. *Pause* is the longest time without an admitted request; "+
			"*first second* is that of a term.", changeServers, changeCallers),
		head: []string{"tenants", "in Redis: requests/s", "pause ms", "in Postgres, first second: requests/s", "pause ms", "in Redis, first second: requests/s", "undecided", "saturated tenants"},
	}
	pause, saturated := time.Duration(0), 0.0
	for _, n := range e.upTo(1_000, 8_000, 100_000) {
		r, err := changeTerms(ctx, e, n)
		if err != nil {
			return nil, err
		}
		pause, saturated = max(pause, r.pauses[0], r.pauses[1]), max(saturated, float64(r.saturated))
		t.add(withCommas(int64(n)), withCommas(r.steady), millis(r.pauses[0]), withCommas(r.firstSecond[0]),
			millis(r.pauses[1]), withCommas(r.firstSecond[1]), withCommas(r.undecided), withCommas(r.saturated))
	}
	t.bound("pause in ms", pause.Seconds()*1e3, maxChangePause.Seconds()*1e3)
	t.bound("saturated tenants", saturated, 0)
	return t, nil
}

// changed is what two changes of term did: to Postgres and back to Redis.
type changed struct {
	steady               int64 // requests per second
	pauses               [2]time.Duration
	firstSecond          [2]int64
	undecided, saturated int64
}

func changeTerms(ctx context.Context, e *env, tenants int) (r changed, err error) {
	e.logf("making %s tenants", withCommas(int64(tenants)))
	url, err := e.postgres.CreateDatabase(ctx, fmt.Sprintf("terms_%d", tenants))
	if err != nil {
		return r, err
	}
	if err := fillKeys(ctx, url, tenants, 1); err != nil {
		return r, err
	}
	server, err := servers.StartRedis(ctx, e.dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	all, leave, err := joinServers(ctx, &limitcluster.Deployment{DatabaseURL: url, RedisURL: server.URL, Log: zerolog.Nop()}, changeServers)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := takeOfEach(ctx, all, tenants); err != nil {
		return r, err
	}
	if r, err = loseCounters(ctx, server.URL, all, tenants); err != nil {
		return r, err
	}
	r.saturated, err = countSaturated(ctx, url)
	return r, err
}

// joinServers returns servers that are in a term of Redis.
func joinServers(ctx context.Context, d *limitcluster.Deployment, n int) (all []*limitcluster.Server, leave func() error, err error) {
	leave = func() error {
		errs := make([]error, len(all))
		var leaving errgroup.Group
		for i, s := range all {
			leaving.Go(func() error { errs[i] = s.Close(); return nil })
		}
		return errors.Join(leaving.Wait(), errors.Join(errs...))
	}
	for i := range n {
		s, err := d.Join(ctx, "server-"+strconv.Itoa(i))
		if err != nil {
			return nil, nil, errors.Join(err, leave())
		}
		all = append(all, s)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, s := range all {
		for t, ok := s.Member.Term(); !ok || t.Redis == ""; t, ok = s.Member.Term() {
			select {
			case <-ctx.Done():
				return nil, nil, errors.Join(errors.New("no term of Redis began"), leave())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return all, leave, nil
}

// takeOfEach has every server serve every tenant once.
func takeOfEach(ctx context.Context, all []*limitcluster.Server, tenants int) error {
	var next atomic.Int64
	var callers errgroup.Group
	for range changeCallers {
		callers.Go(func() error {
			for i := next.Add(1) - 1; i < int64(tenants*len(all)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				all[i/int64(tenants)].Take(ctx, unlimited(i%int64(tenants)+1), time.Now())
			}
			return ctx.Err()
		})
	}
	return callers.Wait()
}

// unlimited is a claim of a tenant that uses up no window.
func unlimited(tenant int64) limits.Claim {
	return limits.Claim{TenantID: tenant, Quota: plans.Quota{PerMinute: 1e9, PerDay: 1e12}}
}

// loseCounters measures requests for random tenants before, during and after Redis loses its counters.
func loseCounters(ctx context.Context, url string, all []*limitcluster.Server, tenants int) (r changed, err error) {
	at, err := redis.ParseURL(url)
	if err != nil {
		return r, err
	}
	client := redis.NewClient(at)
	defer client.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var seen timeline
	seen.begin()
	var callers errgroup.Group
	for range changeCallers {
		callers.Go(func() error {
			for ctx.Err() == nil {
				now := time.Now()
				d := all[rand.IntN(len(all))].Take(ctx, unlimited(rand.Int64N(int64(tenants))+1), now)
				seen.note(&d, time.Since(now))
			}
			return nil
		})
	}
	time.Sleep(steadyTime)
	before, err := all[0].Member.Await(ctx)
	if err != nil {
		return r, err
	}
	r.steady = seen.rate(0, steadyTime)
	lost := seen.now()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return r, err
	}
	var began [2]time.Duration
	for i := range began {
		if began[i], err = seen.await(ctx, before.Number+int64(i)+1); err != nil {
			return r, err
		}
	}
	time.Sleep(afterChange)
	stop()
	err = callers.Wait()
	r.pauses[0] = seen.pause(lost, began[1]-20*interval)
	r.pauses[1] = seen.pause(began[1]-20*interval, seen.now())
	for i := range began {
		r.firstSecond[i] = seen.rate(began[i], time.Second)
	}
	r.undecided = seen.undecided.Load()
	return r, err
}

func countSaturated(ctx context.Context, url string) (n int64, err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "select count(*) from limit_states where minute_used >= $1", limits.Saturated).Scan(&n)
	return n, err
}

func millis(d time.Duration) string { return significant(d.Seconds() * 1e3) }
