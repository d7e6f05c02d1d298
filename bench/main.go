// Command bench compares petstore with a bare Gin server on this machine: requests per second, their ratio, CPU time per request
// and latency. It starts and stops every server that it needs, all on the loopback address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"petstore.example/bench/admission"
	"petstore.example/bench/load"
	"petstore.example/bench/machine"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func realMain() error {
	if isServer, err := servers.SelfMain(os.Args[1:]); isServer {
		return err
	}
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.timeout())
	defer cancel()
	return run(ctx, o)
}

// run measures everything and writes the results.
func run(ctx context.Context, o *options) (err error) {
	start := time.Now()
	r := &report.Report{
		Machine: machine.Describe(), Rounds: o.rounds, Duration: o.duration, Connections: o.connections, Threads: o.threads,
		LogLevel: o.logLevel, Animals: servers.Animals, ManyTenants: servers.ManyTenants,
	}
	o.logf("%s", r.Machine)
	e := &env{}
	defer func() { err = errors.Join(err, e.TearDown(context.WithoutCancel(ctx))) }()
	defer must.Recover(&err)
	wrk := must.Get(load.FindWrk())
	must.Do(e.setUp(ctx, o))
	r.BodySize = len(e.find("list_memory").Body)
	must.Do(e.choose(o.selected()))
	describe(ctx, r, e, wrk)
	must.Do(o.runMost(ctx, wrk, e.cases))
	r.HalfLoads = must.Get(o.runHalfLoads(ctx, e))
	must.Do(o.takeProfiles(ctx, wrk, e.cases))
	o.logf("key and limits, without HTTP")
	r.Admissions = must.Get(admission.Measure(ctx, e.redisServer.Database(2)))
	r.Took = time.Since(start).Round(time.Second)
	o.logf("this took %v\n", r.Took)
	must.Do(r.WriteTables(o.out))
	if o.results != "" {
		must.Do(r.WriteResults(o.results))
	}
	if o.document != "" {
		must.Do(r.WriteDocument(o.document))
	}
	return nil
}

func (o *options) logf(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// describe adds to the report what the figures depend on.
func describe(ctx context.Context, r *report.Report, e *env, wrk *load.Wrk) {
	setting := func(name string) report.Fact {
		return report.Fact{Name: name, Value: must.Get(e.postgres.Setting(ctx, name))}
	}
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "shared_buffers", "max_connections"} {
		r.Settings = append(r.Settings, setting(name))
	}
	r.Versions = []report.Fact{{Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go")}}
	for _, l := range [][2]string{
		{"Gin", "github.com/gin-gonic/gin"}, {"lib/pq", "github.com/lib/pq"}, {"go-redis", "github.com/redis/go-redis/v9"},
		{"ulule/limiter", "github.com/ulule/limiter/v3"},
	} {
		r.Versions = append(r.Versions, report.Fact{Name: l[0], Value: machine.Library(l[1])})
	}
	r.Versions = append(r.Versions, report.Fact{Name: "PostgreSQL", Value: setting("server_version").Value},
		report.Fact{Name: "Redis", Value: e.redisServer.Version}, report.Fact{Name: "wrk", Value: wrk.Version(ctx)})
	for _, c := range e.cases {
		r.Series = append(r.Series, c.Series)
	}
}
