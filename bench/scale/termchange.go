package main

import (
	"context"
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
	// changeRate is how many requests per second the callers send, unless they wait: what servers on such a machine answer over HTTP.
	changeRate = 4_000
	// steadyTime is measured before the change: so long that idle tenants have been reported. afterChange is measured after the first
	// request of the second term.
	steadyTime, afterChange = 20 * time.Second, 4 * time.Second
	// maxChangePause bounds the time without an admitted request, at both changes of term.
	maxChangePause = 500 * time.Millisecond
)

func termChanges(ctx context.Context, e *env) (*table, error) {
	t := &table{
		title: "Changes of term with many tenants",
		about: fmt.Sprintf("%d servers in one process, with one Postgres and one Redis. Every server has served every tenant. Then Redis loses its counters: Postgres counts, and a second later Redis "+
			"does again. %d callers send %s requests per second for random tenants, so the first requests of each term are for tenants that it has not seen. *Pause* is the longest time without an admitted "+
			"request, and *first second* that of the term. *Undecided* requests are refused because no term begins within 250 ms.", changeServers, changeCallers, withCommas(changeRate)),
		head: []string{"tenants", "before: requests/s", "first change: pause ms", "first second: requests/s", "second change: pause ms", "first second: requests/s", "slowest ms", "undecided"},
	}
	pause := time.Duration(0)
	for _, n := range e.upTo(1_000, 8_000, 100_000) {
		r, err := changeTerms(ctx, e, n)
		if err != nil {
			return nil, err
		}
		pause = max(pause, r.pauses[0], r.pauses[1])
		t.add(withCommas(int64(n)), withCommas(r.steady), millis(r.pauses[0]), withCommas(r.firstSecond[0]),
			millis(r.pauses[1]), withCommas(r.firstSecond[1]), millis(r.slowest), withCommas(r.undecided))
	}
	t.bound("pause in ms", pause.Seconds()*1e3, maxChangePause.Seconds()*1e3)
	return t, nil
}

// changed is what two changes of term did: to Postgres and back to Redis.
type changed struct {
	steady      int64 // requests per second
	pauses      [2]time.Duration
	firstSecond [2]int64
	slowest     time.Duration
	undecided   int64
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
	each := func(i int) (*limitcluster.Server, int64) { return all[i/tenants], int64(i%tenants) + 1 }
	if err := takeOfEach(ctx, tenants*len(all), each); err != nil {
		return r, err
	}
	l, steady := startLoad(ctx, all, tenants), steadyTime/e.hurry
	defer l.stop()
	time.Sleep(steady)
	r.steady = l.rate(steady/2, steady/2)
	return r, l.loseCounters(ctx, e, server.URL, all, &r)
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

// takeOfEach sends n requests: the i-th to that server for that tenant.
func takeOfEach(ctx context.Context, n int, which func(i int) (*limitcluster.Server, int64)) error {
	var next atomic.Int64
	var callers errgroup.Group
	for range changeCallers {
		callers.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				s, tenant := which(int(i))
				s.Take(ctx, unlimited(tenant), time.Now())
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

// load sends requests for random tenants at random servers.
type load struct {
	timeline
	stop    func()
	callers errgroup.Group
}

func startLoad(ctx context.Context, all []*limitcluster.Server, tenants int) *load {
	l := &load{}
	ctx, l.stop = context.WithCancel(ctx)
	l.begin()
	for range changeCallers {
		l.callers.Go(func() error {
			ticks := time.NewTicker(time.Second * changeCallers / changeRate)
			defer ticks.Stop()
			for ctx.Err() == nil {
				now := <-ticks.C
				d := all[rand.IntN(len(all))].Take(ctx, unlimited(rand.Int64N(int64(tenants))+1), now)
				l.note(&d, time.Since(now))
			}
			return nil
		})
	}
	return l
}

// loseCounters has Redis lose its counters, measures both changes of term, and stops the load.
func (l *load) loseCounters(ctx context.Context, e *env, url string, all []*limitcluster.Server, r *changed) error {
	at, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(at)
	defer client.Close()
	before, err := all[0].Member.Await(ctx)
	if err != nil {
		return err
	}
	lost := l.now()
	var began [2]time.Duration
	term := before.Number
	for i := range began {
		if err := client.FlushAll(ctx).Err(); err != nil {
			return err
		}
		if term, began[i], err = l.await(ctx, term); err != nil {
			return err
		}
	}
	time.Sleep(afterChange / e.hurry)
	l.stop()
	err = l.callers.Wait()
	r.pauses[0] = l.pause(lost, began[0]+time.Second/2)
	r.pauses[1] = l.pause(began[0]+time.Second/2, l.now())
	for i := range began {
		r.firstSecond[i] = l.rate(began[i], min(time.Second, afterChange/e.hurry))
	}
	r.undecided, r.slowest = l.undecided.Load(), time.Duration(l.slowest.Load())
	return err
}

func millis(d time.Duration) string { return significant(d.Seconds() * 1e3) }
