package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/must"
	"petstore.example/internal/cluster"
)

const (
	changeServers = 3
	// steadyTime is measured before the change: so long that idle tenants have been reported.
	steadyTime = 20 * time.Second
	// maxChangePause bounds the milliseconds without an admitted request, at both changes of term.
	maxChangePause = 500
	// heartbeatChanges is how many changes of term are measured, of which the median counts.
	heartbeatChanges, heartbeatTime = 7, 10 * time.Second
	deadServers                     = 5_000
	manyTenants, fewServers         = 100_000, 8
)

func termChanges(ctx context.Context, e *env) *table {
	t := &table{
		title: "Changes of term with many tenants",
		about: fmt.Sprintf(
			"%d servers in one process, with one Postgres and one Redis. Every server has served every tenant. Then "+
				"Redis loses its counters, twice. "+
				"%d callers send %s requests per second for random tenants, so the first requests of each term are "+
				"for tenants that it has not seen. *Pause* is the longest time without an admitted "+
				"request, and *first second* that of the term. *Undecided* requests are refused because no term "+
				"begins within 250 ms.",
			changeServers,
			changeCallers,
			withCommas(changeRate),
		),
		head: []string{
			"tenants",
			"before: requests/s",
			"first change: pause ms",
			"first second: requests/s",
			"second change: pause ms",
			"first second: requests/s",
			"slowest ms",
			"undecided",
		},
	}
	pause := time.Duration(0)
	for _, n := range e.upTo(1_000, 8_000, 100_000) {
		f := &serverCluster{env: e, servers: changeServers, tenants: n}
		f.start(ctx)
		takeOfEach(ctx, n*len(f.all), func(i int) (*limitcluster.Server, int64) { return f.all[i/n], int64(i%n) + 1 })
		l, steady := startTimeline(ctx, f.all, n), steadyTime/e.hurry
		defer l.stop()
		time.Sleep(steady)
		f.steady = l.rate(steady/2, steady/2)
		f.loseCounters(ctx, l)
		must.Do(e.TearDown(ctx))
		pause = max(pause, f.pauses[0], f.pauses[1])
		t.add(withCommas(int64(n)), withCommas(f.steady), millis(f.pauses[0]), withCommas(f.firstSecond[0]),
			millis(f.pauses[1]), withCommas(f.firstSecond[1]), millis(f.slowest), withCommas(f.undecided))
	}
	t.bound("pause in ms", pause.Seconds()*1e3, maxChangePause)
	return t
}

func heartbeats(ctx context.Context, e *env) *table {
	t := &table{
		title: "Heartbeats",
		about: fmt.Sprintf(
			"Cluster members alone, without tenants or requests, over a Postgres whose round trips take %v more. "+
				"*Lease held* is the share of server time in which a term was in force, and *commits* are all of "+
				"Postgres, "+
				"during %v. Then all servers change their Redis, %d times. *Everywhere* is when the last server was "+
				"in the next term, the median.",
			farDelay,
			heartbeatTime,
			heartbeatChanges,
		),
		head: []string{
			"servers",
			"rows of dead servers",
			"lease held %",
			"commits/s per server",
			"Postgres ms/s",
			"change of term everywhere ms",
			"slowest",
		},
	}
	for _, f := range []*serverCluster{{servers: fewServers}, {servers: fewServers, dead: deadServers},
		{servers: 100}} {
		if f.servers > e.maxSize {
			continue
		}
		f.env, f.far = e, true
		f.start(ctx)
		time.Sleep(2 * time.Second) // The cluster's interval is known to all.
		f.measureLeases(ctx, heartbeatTime/e.hurry)
		var changes []time.Duration
		for i := range heartbeatChanges {
			redis := []string{"", "r"}[i%2]
			for _, s := range f.all {
				s.Member.SetRedis(redis)
			}
			changes = append(changes, must.Get(f.awaitTerm(ctx, func(t cluster.Term) bool { return t.Redis == redis })))
			time.Sleep(time.Second) // A change soon after another is not what is measured.
		}
		must.Do(e.TearDown(ctx))
		t.add(
			slices.Concat(
				[]string{strconv.Itoa(f.servers), withCommas(int64(f.dead))},
				f.leases(),
				[]string{millis(median(changes)), millis(slices.Max(changes))},
			)...)
		t.boundCluster(f, fmt.Sprintf("%d servers, %d dead", f.servers, f.dead), median(changes))
	}
	return t
}

func manyServers(ctx context.Context, e *env) *table {
	const length = 10 * time.Second
	t := &table{
		title: "Fleets of servers",
		about: fmt.Sprintf(
			"Limiters and cluster members as in the servers, in one process, with one Redis and one Postgres whose "+
				"round trips take %v more. %s tenants; %d callers send %s requests per second, "+
				"each for a random tenant at a random server. *Lease held* is the share of server time in which a "+
				"term was in force, and *commits* are all of Postgres, during %v without a fault. Then Redis loses "+
				"its counters, twice. "+
				"*Everywhere* is when the last server was in the next term.",
			farDelay,
			withCommas(manyTenants),
			changeCallers,
			withCommas(changeRate),
			length,
		),
		head: []string{
			"servers",
			"lease held %",
			"commits/s per server",
			"Postgres ms/s",
			"requests/s",
			"first change: everywhere ms",
			"first second: requests/s",
			"second change: everywhere ms",
			"first second: requests/s",
			"undecided",
		},
	}
	for _, n := range e.upTo(2, fewServers, 20, 40) {
		f := &serverCluster{env: e, servers: n, tenants: manyTenants, far: true}
		f.start(ctx)
		takeOfEach(ctx, manyTenants, f.randomTenants())
		l := startTimeline(ctx, f.all, manyTenants)
		defer l.stop()
		// A busy machine may lose Redis for a moment, and then all tenants are new in a term.
		for before := int64(-1); before != l.latestTerm(); {
			time.Sleep(length / e.hurry)
			before = l.latestTerm()
			f.measureLeases(ctx, length/e.hurry)
		}
		f.steady = l.rate(l.now()-length/e.hurry, length/e.hurry)
		f.loseCounters(ctx, l)
		must.Do(e.TearDown(ctx))
		t.add(
			slices.Concat(
				[]string{strconv.Itoa(n)},
				f.leases(),
				[]string{withCommas(f.steady), millis(f.everywhere[0]), withCommas(f.firstSecond[0]),
					millis(f.everywhere[1]), withCommas(f.firstSecond[1]), withCommas(f.undecided)},
			)...)
		e.logf("%v", t.rows[len(t.rows)-1])
		t.boundCluster(f, fmt.Sprintf("%d servers", n), max(f.everywhere[0], f.everywhere[1]))
	}
	return t
}
