package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/servers"
)

const (
	heartbeatTime = 10 * time.Second
	// heartbeatChanges is how many changes of term are measured, of which the median counts.
	heartbeatChanges = 7
	deadServers      = 5_000
	heartbeatTimeout = 30 * time.Second
)

func heartbeats(ctx context.Context, e *env) (t *table, err error) {
	t = &table{
		title: "Heartbeats",
		about: fmt.Sprintf("Cluster members alone, without tenants or requests, over a Postgres whose round trips take %v more. *Lease held* is the share of server time in which a term was in force, and *commits* are all of Postgres, "+
			"during %v. Then one server changes its Redis, %d times. *Everywhere* is when the last server was in the next term, the median.", manyDelay, heartbeatTime, heartbeatChanges),
		head: []string{"servers", "rows of dead servers", "lease held %", "commits/s per server", "Postgres ms/s", "change of term everywhere ms", "slowest"},
	}
	for _, size := range []struct{ servers, dead int }{{fewServers, 0}, {fewServers, deadServers}, {100, 0}} {
		if size.servers > e.maxSize {
			continue
		}
		r, err := e.measureHeartbeats(ctx, size.servers, size.dead)
		if err != nil {
			return nil, fmt.Errorf("%d servers: %w", size.servers, err)
		}
		median := r.changes[len(r.changes)/2]
		t.add(strconv.Itoa(size.servers), withCommas(int64(size.dead)), significant(r.held*100), significant(r.commits), significant(r.work.Seconds()*1e3),
			millis(median), millis(r.changes[len(r.changes)-1]))
		most := maxManyChange
		if size.servers <= fewServers {
			most = maxFewChange
		}
		t.bound(fmt.Sprintf("%d servers, %d dead: change of term everywhere, ms", size.servers, size.dead), median.Seconds()*1e3, most.Seconds()*1e3)
		t.bound(fmt.Sprintf("%d servers, %d dead: time without a lease, %%", size.servers, size.dead), (1-r.held)*100, 0)
	}
	return t, nil
}

// heartbeatRun is what members did: the changes of term in order of their length.
type heartbeatRun struct {
	manyRun
	changes []time.Duration
}

func (e *env) measureHeartbeats(ctx context.Context, n, dead int) (r heartbeatRun, err error) {
	e.logf("heartbeats of %d servers", n)
	postgres, err := servers.StartPostgresWith(ctx, manyConnections)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()
	url, err := postgres.CreateDatabase(ctx, "heartbeats")
	if err != nil {
		return r, err
	}
	if err := addDead(ctx, url, dead); err != nil {
		return r, err
	}
	delayed, delayedURL, err := servers.DelayPostgres(url, manyDelay)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, delayed.Close()) }()
	d := &limitcluster.Deployment{DatabaseURL: delayedURL, Log: zerolog.Nop()}
	var all []*limitcluster.Server
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.Close())
		}
	}()
	for i := range n {
		s, err := d.JoinMember(ctx, "server-"+strconv.Itoa(i), "r")
		all = append(all, s)
		if err != nil {
			return r, err
		}
	}
	if _, err := awaitRedis(ctx, all, "r"); err != nil {
		return r, err
	}
	time.Sleep(2 * time.Second) // The fleet's interval is known to all.
	if err := r.measureLeases(ctx, postgres, url, all, heartbeatTime/e.hurry); err != nil {
		return r, err
	}
	for i := range heartbeatChanges {
		redis := ""
		if i%2 == 1 {
			redis = "r"
		}
		all[0].Member.SetRedis(redis)
		took, err := awaitRedis(ctx, all, redis)
		if err != nil {
			return r, err
		}
		r.changes = append(r.changes, took)
		time.Sleep(time.Second)
	}
	slices.Sort(r.changes)
	return r, nil
}

// addDead adds rows of servers that have ended without leaving, some seconds before they are folded away and later.
func addDead(ctx context.Context, url string, n int) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `insert into servers (id, seen_at, redis, acked)
		select 'dead-' || i, clock_timestamp() - i * interval '1 minute', 'gone', 0 from generate_series(1, $1) i`, n)
	return errors.Join(err, db.Close())
}

// awaitRedis returns after how long every server is in one term of that Redis.
func awaitRedis(ctx context.Context, all []*limitcluster.Server, redis string) (time.Duration, error) {
	start := time.Now()
	for time.Since(start) < heartbeatTimeout && ctx.Err() == nil {
		first, ok := all[0].Member.Term()
		if ok && first.Redis == redis && !slices.ContainsFunc(all, func(s *limitcluster.Server) bool { return !s.Member.Valid(first.Number) }) {
			return time.Since(start), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, errors.Join(ctx.Err(), fmt.Errorf("no term of Redis %q", redis))
}
