package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"petstore.example/bench/admission"
	"petstore.example/bench/load"
	"petstore.example/bench/machine"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// run measures everything and writes the results.
func run(ctx context.Context, o *options) (err error) {
	start := time.Now()
	r := &report.Report{
		Machine: machine.Describe(), Rounds: o.rounds, Duration: o.duration, Connections: o.connections, Threads: o.threads,
		LogLevel: o.logLevel, Animals: servers.Animals, ManyTenants: servers.ManyTenants,
	}
	o.logf("%s", r.Machine)
	wrk, err := load.FindWrk()
	if err != nil {
		return err
	}
	e := &env{}
	defer func() { err = errors.Join(err, e.TearDown(context.WithoutCancel(ctx))) }()
	if err := e.setUp(ctx, o); err != nil {
		return err
	}
	r.BodySize = len(e.find("list_memory").Body)
	if err := e.choose(o.selected()); err != nil {
		return err
	}
	if err := describe(ctx, r, e, wrk); err != nil {
		return err
	}
	if err := runRounds(ctx, o, wrk, e.cases); err != nil {
		return err
	}
	if r.HalfLoads, err = runHalfLoads(ctx, o, e); err != nil {
		return err
	}
	if err := profiles(ctx, o, wrk, e.cases); err != nil {
		return err
	}
	o.logf("key and limits, without HTTP")
	if r.Admissions, err = admission.Measure(ctx, e.redisServer.Database(2)); err != nil {
		return err
	}
	r.Took = time.Since(start).Round(time.Second)
	o.logf("this took %v", r.Took)
	return write(r, o)
}

func (o *options) logf(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// describe adds to the report what the figures depend on.
func describe(ctx context.Context, r *report.Report, e *env, wrk *load.Wrk) (err error) {
	defer must.Recover(&err)
	setting := func(name string) report.Fact {
		return report.Fact{Name: name, Value: must.Get(e.postgres.Setting(ctx, name))}
	}
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "shared_buffers", "max_connections"} {
		r.Settings = append(r.Settings, setting(name))
	}
	r.Versions = []report.Fact{
		{Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go")},
		{Name: "Gin", Value: machine.Library("github.com/gin-gonic/gin")},
		{Name: "lib/pq", Value: machine.Library("github.com/lib/pq")},
		{Name: "go-redis", Value: machine.Library("github.com/redis/go-redis/v9")},
		{Name: "ulule/limiter", Value: machine.Library("github.com/ulule/limiter/v3")},
		{Name: "PostgreSQL", Value: setting("server_version").Value},
		{Name: "Redis", Value: e.redisServer.Version},
		{Name: "wrk", Value: wrk.Version(ctx)},
	}
	for _, c := range e.cases {
		r.Series = append(r.Series, c.Series)
	}
	return nil
}

func write(r *report.Report, o *options) error {
	o.logf("")
	if err := r.WriteTable(o.out); err != nil {
		return err
	}
	if o.results != "" {
		if err := r.WriteResults(o.results); err != nil {
			return err
		}
	}
	if o.document == "" {
		return nil
	}
	return r.WriteDocument(o.document)
}
