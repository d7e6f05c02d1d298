// Command bench compares petstore with a bare Gin server on this machine: requests per second,
// their ratio, CPU time per request and latency. It starts and stops every server that it needs,
// all on the loopback address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

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
		Machine:        machine.Describe(),
		Rounds:         o.rounds,
		Duration:       o.duration,
		Connections:    o.connections,
		Threads:        o.threads,
		PinnedRounds:   o.pinnedRounds(),
		PinnedDuration: o.pinned,
		Partial:        o.cases != "",
		LogLevel:       o.logLevel,
		Animals:        servers.Animals,
		ManyTenants:    servers.ManyTenants,
	}
	o.logf("%s", r.Machine)
	e := &env{}
	defer func() { err = errors.Join(err, e.TearDown(context.WithoutCancel(ctx))) }()
	defer must.Recover(&err)
	wrk := must.Get(load.WrkVersion(ctx))
	must.Do(e.setUp(ctx, o))
	r.BodySize = len(e.find("list_memory").Body)
	must.Do(e.choose(o.selected()))
	describe(ctx, r, e, wrk)
	must.Do(o.runRounds(ctx, e.chosen(true), r.PinnedRounds, o.pinned))
	must.Do(o.runRounds(ctx, e.chosen(false), o.rounds, o.duration))
	must.Do(o.takeProfiles(ctx, e.cases))
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
func describe(ctx context.Context, r *report.Report, e *env, wrk string) {
	setting := func(name string) report.Fact {
		return report.Fact{Name: name, Value: must.Get(e.postgres.Setting(ctx, name))}
	}
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "shared_buffers",
		"max_connections"} {
		r.Settings = append(r.Settings, setting(name))
	}
	r.Versions = []report.Fact{{Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go")}}
	for _, l := range [][2]string{
		{"Gin", "github.com/gin-gonic/gin"}, {"lib/pq", "github.com/lib/pq"},
		{"go-redis", "github.com/redis/go-redis/v9"},
		{"ulule/limiter", "github.com/ulule/limiter/v3"},
	} {
		r.Versions = append(r.Versions, report.Fact{Name: l[0], Value: machine.Library(l[1])})
	}
	r.Versions = append(r.Versions, report.Fact{Name: "PostgreSQL", Value: setting("server_version").Value},
		report.Fact{Name: "Redis", Value: e.redisServer.Version}, report.Fact{Name: "wrk", Value: wrk})
	for _, c := range e.cases {
		if c.Rate > 0 {
			r.Pinned = append(r.Pinned, c.Series)
		} else {
			r.Series = append(r.Series, c.Series)
		}
	}
}

// options are the command line.
type options struct {
	out io.Writer

	cases       string
	rounds      int
	duration    time.Duration
	pinned      time.Duration
	connections int
	threads     int
	logLevel    string
	petstore    string
	results     string
	document    string
	profile     string
}

// warmUp is how long each case runs before it is measured; profiled is how long it runs while
// profiles are taken.
const (
	warmUp   = time.Second
	profiled = 6 * time.Second
)

func parseOptions(args []string) (*options, error) {
	o := &options{out: os.Stdout}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(
		&o.cases,
		"cases",
		"",
		"comma-separated `names` of the cases to measure; empty for all, pinned for those at a pinned rate. The "+
			"document is written only for all",
	)
	f.IntVar(&o.rounds, "rounds", 5, "`number` of measured runs of each case, at most three of them at a pinned rate")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "`time` of each run, in whole seconds")
	f.DurationVar(&o.pinned, "pinned", 15*time.Second, "`time` of each run at a pinned rate, in whole seconds")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections")
	f.IntVar(&o.threads, "threads", min(2, runtime.NumCPU()), "`number` of wrk's threads")
	f.StringVar(&o.logLevel, "log-level", "info", "petstore's log `level`; info, its default, logs every request")
	f.StringVar(&o.petstore, "petstore", "bin/petstore", "`program` to measure; built if it does not exist")
	f.StringVar(&o.results, "results", "bench/results.json", "JSON `file` for the results; empty for none")
	f.StringVar(
		&o.document,
		"document",
		"docs/benchmarks.md",
		"Markdown `file` for the results, with a directory of the same name for its charts; empty for none",
	)
	f.StringVar(
		&o.profile,
		"profile",
		"",
		"`directory` for profiles of petstore, taken in a further run of each case; empty for none",
	)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.cases != "" {
		o.document = ""
	}
	return o, o.check(f.Args())
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.rounds < 1:
		return errors.New("-rounds must be at least 1")
	case min(o.duration, o.pinned) < time.Second || o.duration%time.Second+o.pinned%time.Second != 0:
		return errors.New("-duration and -pinned must be positive numbers of whole seconds, as wrk requires")
	case o.threads < 1 || o.connections < o.threads:
		return errors.New("-threads must be at least 1, and -connections at least -threads")
	}
	return nil
}

// pinnedRounds is how often each case at a pinned rate is measured.
func (o *options) pinnedRounds() int { return min(o.rounds, 3) }

// measuringTime is how long so many cases at their maximum rates run, and those at pinned rates,
// without profiles.
func (o *options) measuringTime(cases int) time.Duration {
	perCase := warmUp + time.Duration(o.rounds)*o.duration
	perPinned := warmUp + time.Duration(len(pinnedRates)*o.pinnedRounds())*o.pinned
	return time.Duration(cases)*perCase + time.Duration(len(pinned))*perPinned
}

// timeout bounds the whole benchmark, with time to start the servers and for the checks around each
// run.
func (o *options) timeout() time.Duration {
	const mostCases = 48
	d := 3*time.Minute + o.measuringTime(mostCases)*3/2
	if o.profile != "" {
		d += mostCases * (profiled + time.Second)
	}
	return d
}

func (o *options) load(d time.Duration, rate float64) load.Options {
	return load.Options{Connections: o.connections, Threads: o.threads, Duration: d, Rate: rate}
}

// selected returns the names of the cases to measure, nil for all.
func (o *options) selected() []string {
	if o.cases == "" {
		return nil
	}
	return strings.Split(o.cases, ",")
}
