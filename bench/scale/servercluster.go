package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

const (
	// changeRate is how many requests per second the callers send, unless they wait: what servers
	// on such a machine answer over HTTP.
	changeCallers, changeRate = 64, 4_000
	// afterChange is measured after the first request of each term.
	afterChange = 4 * time.Second
	// farDelay is a round trip to a database in another zone, or on a busy network. farConns is the
	// size of each server's pool then.
	farDelay = 2600 * time.Microsecond
	farConns = 2
)

// farSettings are those of a Postgres for many servers: each has its pool, up to two connections
// for renewals, and the change feed's.
var farSettings = map[string]string{"shared_buffers": "512MB", "max_connections": "600"}

// serverCluster is servers that share a Postgres.
type serverCluster struct {
	*env

	servers int
	tenants int  // with a limiter and a Redis; 0 for members of the cluster alone
	dead    int  // rows of servers that have ended without leaving, some seconds before they are folded away and later
	far     bool // Postgres is the cluster's own, and its round trips take farDelay more
	// These are set by start.
	postgres      *servers.Postgres
	url, redisURL string
	all           []*limitcluster.Server
	// held is the share of server time in which a term was in force, commits are per second and
	// server, work is Postgres's CPU time per second.
	held, commits float64
	work          time.Duration
	// Of two changes of term: everywhere is how long it took until the last server was in the next
	// term, pauses the longest time without an admitted request, and firstSecond and steady the
	// requests per second after and before.
	everywhere, pauses [2]time.Duration
	firstSecond        [2]int64
	steady             int64
	slowest            time.Duration
	undecided          int64
}

// start starts the servers and waits until all are in a term of Redis, members in one of the Redis
// "r".
func (f *serverCluster) start(ctx context.Context) {
	f.logf("starting %d servers for %s tenants", f.servers, withCommas(int64(f.tenants)))
	f.postgres = f.env.postgres
	if f.far {
		f.postgres = must.Get(servers.StartPostgres(ctx, farSettings))
		f.Cleanup(f.postgres.Stop)
	}
	f.url = must.Get(f.postgres.CreateDatabase(ctx, fmt.Sprintf("cluster_%d_%d", f.servers, f.tenants)))
	must.Do(servers.Exec(ctx, f.url, fmt.Sprintf(`insert into servers (id, seen_at, redis, acked)
		select 'dead-' || i, clock_timestamp() - i * interval '1 minute', 'gone', 0
		from generate_series(1, %d) i`, f.dead)))
	d := &limitcluster.Deployment{DatabaseURL: f.url, RedisName: "r", Log: zerolog.Nop()}
	if f.tenants > 0 {
		fillKeys(ctx, f.url, f.tenants, 1)
		f.redisURL = f.redis(ctx)
		d.RedisURL = f.redisURL
	}
	if f.far {
		url, stop, err := servers.DelayPostgres(f.url, farDelay)
		must.Do(err)
		f.Cleanup(stop)
		d.DatabaseURL, d.Conns = url, farConns
	}
	f.Cleanup(func(ctx context.Context) error {
		var leaving errgroup.Group
		for _, s := range f.all {
			leaving.Go(func() error { return s.TearDown(ctx) })
		}
		return leaving.Wait()
	})
	for i := range f.servers {
		f.all = append(f.all, must.Get(d.Join(ctx, "server-"+strconv.Itoa(i))))
	}
	must.Get(f.awaitTerm(ctx, func(t cluster.Term) bool { return t.Redis != "" }))
}

// awaitTerm returns after how long the last server was seen in such a term.
func (f *serverCluster) awaitTerm(ctx context.Context, such func(cluster.Term) bool) (time.Duration, error) {
	start := time.Now()
	for _, s := range f.all {
		for t, ok := s.Member.Term(); !ok || !such(t); t, ok = s.Member.Term() {
			if ctx.Err() != nil || time.Since(start) > termTimeout {
				return 0, errors.Join(ctx.Err(), errors.New("a server is in no term of that kind"))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return time.Since(start), nil
}

// anyLeft reports whether a server is not in that term.
func (f *serverCluster) anyLeft(term int64) bool {
	return slices.ContainsFunc(f.all, func(s *limitcluster.Server) bool { return !s.Member.Valid(term) })
}

// takeOfEach sends n requests: the i-th to that server for that tenant.
func takeOfEach(ctx context.Context, n int, which func(i int) (*limitcluster.Server, int64)) {
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
	must.Do(callers.Wait())
}

// unlimited is a claim of a tenant that uses up no window.
func unlimited(tenant int64) limits.Claim {
	return limits.Claim{TenantID: tenant, Quota: plans.Quota{PerMinute: 1e9, PerDay: 1e12}}
}

// loseCounters has Redis lose its counters, measures both changes of term, and stops the requests.
func (f *serverCluster) loseCounters(ctx context.Context, l *timeline) {
	client := redis.NewClient(must.Get(redis.ParseURL(f.redisURL)))
	defer client.Close()
	term := must.Get(f.all[0].Member.Await(ctx)).Number
	var watching errgroup.Group
	watched, end := context.WithCancel(ctx)
	watching.Go(func() error { return f.watchTerms(watched, term) })
	lost := l.now()
	var began [2]time.Duration
	for i := range began {
		must.Do(client.FlushAll(ctx).Err())
		var err error
		term, began[i], err = l.await(ctx, term)
		must.Do(err)
		time.Sleep(afterChange / f.hurry) // A loss is noticed when a tenant that Redis has counted for is asked for.
	}
	l.stop()
	end()
	err := watching.Wait()
	if f.hurry > 1 && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		err = nil // A busy machine may look at no server in the first of two terms, and then waits for a third.
	}
	must.Do(errors.Join(l.callers.Wait(), err))
	between := (began[0] + began[1]) / 2
	f.pauses = [2]time.Duration{l.pause(lost, between), l.pause(between, l.now())}
	for i := range began {
		f.firstSecond[i] = l.rate(began[i], min(time.Second, afterChange/f.hurry))
	}
	f.undecided, f.slowest = l.undecided, l.slowest
}

// watchTerms measures two changes of term: from when the first server has left a term until the
// last one is in the next.
func (f *serverCluster) watchTerms(ctx context.Context, number int64) (err error) {
	for i := range f.everywhere {
		for !f.anyLeft(number) {
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if f.everywhere[i], err = f.awaitTerm(ctx, func(t cluster.Term) bool { return t.Number > number }); err != nil {
			return err
		}
		term, err := f.all[0].Member.Await(ctx)
		if err != nil {
			return err
		}
		number = term.Number
	}
	return nil
}

// measureLeases measures leases and commits for a while.
func (f *serverCluster) measureLeases(ctx context.Context, length time.Duration) {
	commitsBefore, workBefore := f.commitsSoFar(ctx), must.Get(f.postgres.CPU())
	start, held, looks := time.Now(), 0, 0
	for ; time.Since(start) < length; time.Sleep(5 * time.Millisecond) {
		for _, s := range f.all {
			looks++
			if _, ok := s.Member.Term(); ok {
				held++
			}
		}
	}
	seconds := time.Since(start).Seconds()
	f.held = float64(held) / float64(looks)
	f.work = time.Duration(float64(must.Get(f.postgres.CPU())-workBefore) / seconds)
	f.commits = (f.commitsSoFar(ctx) - commitsBefore) / seconds / float64(len(f.all))
}

// commitsSoFar returns how many transactions were committed in the database.
func (f *serverCluster) commitsSoFar(ctx context.Context) float64 {
	time.Sleep(time.Second + 200*time.Millisecond) // Sessions report their statistics once a second.
	return must.Get(
		servers.Value[float64](
			ctx,
			f.url,
			"select xact_commit from pg_stat_database where datname = current_database()",
		),
	)
}

// leases are the cells of measureLeases.
func (f *serverCluster) leases() []string {
	return []string{significant(f.held * 100), significant(f.commits), millis(f.work)}
}

// boundCluster adds the verdicts about the time of a change of term and about leases.
func (t *table) boundCluster(f *serverCluster, what string, everywhere time.Duration) {
	most := 500.0
	if f.servers <= fewServers {
		most = 100
	}
	t.bound(what+": change of term everywhere, ms", everywhere.Seconds()*1e3, most)
	t.bound(what+": time without a lease, %", (1-f.held)*100, 0)
}

func millis(d time.Duration) string { return significant(d.Seconds() * 1e3) }

// randomTenants returns every tenant once, at the servers in turn.
func (f *serverCluster) randomTenants() func(i int) (*limitcluster.Server, int64) {
	order := rand.Perm(f.tenants)
	return func(i int) (*limitcluster.Server, int64) { return f.all[i%len(f.all)], int64(order[i]) + 1 }
}
