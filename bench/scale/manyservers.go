package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/servers"
)

const (
	manyTenants = 100_000
	// manyDelay is a round trip to a database in another zone, or on a busy network.
	manyDelay = 2600 * time.Microsecond
	manyTime  = 20 * time.Second
	// manyConns is the size of each server's pool of connections.
	manyConns = 2
	// manyConnections is PostgreSQL's: each server has the pool, up to two connections for renewals, and the change feed's.
	manyConnections = 600
	// The goals.
	maxManyChange, maxFewChange = 500 * time.Millisecond, 100 * time.Millisecond
	fewServers                  = 8
)

func manyServers(ctx context.Context, e *env) (t *table, err error) {
	t = &table{
		title: "Fleets of servers",
		about: fmt.Sprintf("Limiters and cluster members as in the servers, in one process, with one Redis and one Postgres whose round trips take %v more. %s tenants; %d callers send %s requests per second, "+
			"each for a random tenant at a random server. *Lease held* is the share of server time in which a term was in force, and *commits* are all of Postgres, during %v without a fault. Then Redis loses its counters. "+
			"*Everywhere* is when the last server was in the next term.",
			manyDelay, withCommas(manyTenants), changeCallers, withCommas(changeRate), manyTime/2),
		head: []string{"servers", "lease held %", "commits/s per server", "Postgres ms/s", "requests/s", "first change: everywhere ms", "first second: requests/s", "second change: everywhere ms", "first second: requests/s", "undecided"},
	}
	for _, n := range e.upTo(fewServers, 100) {
		r, err := e.measureServers(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("%d servers: %w", n, err)
		}
		t.add(strconv.Itoa(n), significant(r.held*100), significant(r.commits), significant(r.work.Seconds()*1e3), withCommas(r.steady),
			millis(r.everywhere[0]), withCommas(r.firstSecond[0]), millis(r.everywhere[1]), withCommas(r.firstSecond[1]), withCommas(r.undecided))
		e.logf("%v", t.rows[len(t.rows)-1])
		most := maxManyChange
		if n <= fewServers {
			most = maxFewChange
		}
		t.bound(fmt.Sprintf("%d servers: change of term everywhere, ms", n), max(r.everywhere[0], r.everywhere[1]).Seconds()*1e3, most.Seconds()*1e3)
		t.bound(fmt.Sprintf("%d servers: time without a lease, %%", n), (1-r.held)*100, 0)
	}
	return t, nil
}

// manyRun is what many servers did.
type manyRun struct {
	changed
	// held is the share of server time in which a term was in force, commits are per second and server, work is Postgres's CPU time per
	// second.
	held, commits float64
	work          time.Duration
	// everywhere is how long the changes of term took, until the last server was in it.
	everywhere [2]time.Duration
}

func (e *env) measureServers(ctx context.Context, n int) (r manyRun, err error) {
	e.logf("%d servers", n)
	postgres, err := servers.StartPostgresWith(ctx, manyConnections)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()
	url, err := postgres.CreateDatabase(ctx, "fleet")
	if err != nil {
		return r, err
	}
	if err := fillKeys(ctx, url, manyTenants, 1); err != nil {
		return r, err
	}
	delayed, delayedURL, err := servers.DelayPostgres(url, manyDelay)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, delayed.Close()) }()
	server, err := servers.StartRedis(ctx, e.dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	all, leave, err := joinServers(ctx, &limitcluster.Deployment{DatabaseURL: delayedURL, RedisURL: server.URL, Conns: manyConns, Log: zerolog.Nop()}, n)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	return e.runServers(ctx, postgres, url, server.URL, all)
}

// runServers serves every tenant once, measures half of manyTime, and then two changes of term.
func (e *env) runServers(ctx context.Context, postgres *servers.Postgres, url, redisURL string, all []*limitcluster.Server) (r manyRun, err error) {
	order := rand.Perm(manyTenants)
	if err := takeOfEach(ctx, len(order), func(i int) (*limitcluster.Server, int64) { return all[i%len(all)], int64(order[i]) + 1 }); err != nil {
		return r, err
	}
	load := startLoad(ctx, all, manyTenants)
	defer load.stop()
	for again := true; again; { // A busy machine may lose Redis for a moment, and then all tenants are new in a term.
		before := load.term.Load()
		time.Sleep(manyTime / 2 / e.hurry)
		if err := r.measureLeases(ctx, postgres, url, all, manyTime/2/e.hurry); err != nil {
			return r, err
		}
		if again = load.term.Load() != before; again {
			e.logf("the term changed: measuring again")
		}
	}
	r.steady = load.rate(load.now()-manyTime/2/e.hurry, manyTime/2/e.hurry)
	var changes errgroup.Group
	changes.Go(func() error { return r.watchTerms(ctx, all) })
	changes.Go(func() error { return load.loseCounters(ctx, e, redisURL, all, &r.changed) })
	return r, changes.Wait()
}

// measureLeases measures leases and commits for a while.
func (r *manyRun) measureLeases(ctx context.Context, postgres *servers.Postgres, url string, all []*limitcluster.Server, length time.Duration) error {
	commitsBefore, err := commits(ctx, url)
	if err != nil {
		return err
	}
	workBefore, err := postgres.CPU()
	if err != nil {
		return err
	}
	start, held, looks := time.Now(), 0, 0
	for ; time.Since(start) < length; time.Sleep(5 * time.Millisecond) {
		for _, s := range all {
			looks++
			if _, ok := s.Member.Term(); ok {
				held++
			}
		}
	}
	seconds := time.Since(start).Seconds()
	r.held = float64(held) / float64(looks)
	workAfter, err := postgres.CPU()
	if err != nil {
		return err
	}
	r.work = time.Duration(float64(workAfter-workBefore) / seconds)
	commitsAfter, err := commits(ctx, url)
	r.commits = (commitsAfter - commitsBefore) / seconds / float64(len(all))
	return err
}

// commits returns how many transactions were committed in the database.
func commits(ctx context.Context, url string) (n float64, err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	// Sessions report their statistics once a second.
	time.Sleep(time.Second + 200*time.Millisecond)
	err = db.QueryRowContext(ctx, "select xact_commit from pg_stat_database where datname = current_database()").Scan(&n)
	return n, err
}

// watchTerms measures two changes of term: from when the first server has left a term until the last one is in the next.
func (r *manyRun) watchTerms(ctx context.Context, all []*limitcluster.Server) error {
	t, err := all[0].Member.Await(ctx)
	if err != nil {
		return err
	}
	for i := range r.everywhere {
		for !anyLeft(all, t.Number) {
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		start := time.Now()
		var each errgroup.Group
		for _, s := range all {
			each.Go(func() error {
				ctx, cancel := context.WithTimeout(ctx, termTimeout)
				defer cancel()
				for {
					next, err := s.Member.Await(ctx)
					if err != nil {
						return fmt.Errorf("no term after %d: %w", t.Number, err)
					}
					if next.Number > t.Number {
						return nil
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		if err := each.Wait(); err != nil {
			return err
		}
		r.everywhere[i] = time.Since(start)
		if t, err = all[0].Member.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// anyLeft reports whether a server is no longer in that term.
func anyLeft(all []*limitcluster.Server, term int64) bool {
	for _, s := range all {
		if !s.Member.Valid(term) {
			return true
		}
	}
	return false
}
