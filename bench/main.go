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
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
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
	return run(ctx, o)
}

// run measures everything and writes the results.
func run(ctx context.Context, o *options) (err error) {
	start := time.Now()
	r := &report.Report{
		Machine: machine.Describe(),
		Rounds:  o.rounds, Duration: o.duration, PinnedRounds: min(o.rounds, pinnedRounds), PinnedDuration: o.pinned,
		Connections: o.connections,
	}
	o.logf("%s", r.Machine)
	e := &env{}
	defer func() { err = errors.Join(err, e.TearDown(context.WithoutCancel(ctx))) }()
	defer must.Recover(&err)
	must.Do(e.setUp(ctx, o))
	r.BodySize = len(e.find("list").Body)
	must.Do(e.choose(o.cases))
	r.Versions = versions(ctx, e)
	for _, c := range e.cases {
		r.Series = append(r.Series, c.Series)
	}
	o.logf("measuring %d cases takes at least %v", len(e.cases), o.measuringTime(e.cases))
	must.Do(e.runRounds(ctx))
	must.Do(e.takeProfiles(ctx))
	r.Took = time.Since(start).Round(time.Second)
	o.logf("this took %v\n", r.Took)
	o.logf("%s", must.Get(r.Table()))
	if o.results != "" {
		must.Do(r.WriteResults(o.results))
	}
	if o.document != "" {
		must.Do(r.WriteDocument(o.document))
	}
	return nil
}

func (o *options) logf(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// versions returns the versions of the measured programs.
func versions(ctx context.Context, e *env) string {
	number := regexp.MustCompile(`\d+(\.\d+)+`)
	postgres := must.Get(servers.Value[string](ctx, e.postgres.URL("postgres", "postgres"), "show server_version"))
	redis := must.Get(exec.CommandContext(ctx, "redis-server", "--version").Output())
	wrk, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput() // wrk -v exits with an error.
	return fmt.Sprintf("Go %s, PostgreSQL %s, Redis %s, wrk %s",
		number.FindString(runtime.Version()), number.FindString(postgres), number.Find(redis), number.Find(wrk))
}

// options are the command line.
type options struct {
	out io.Writer

	cases       string
	rounds      int
	duration    time.Duration
	pinned      time.Duration
	connections int
	petstore    string
	results     string
	document    string
	profile     string
	month       bool
}

const (
	// warmUp is how long each case runs before it is measured; profiled is how long it runs while
	// profiles are taken.
	warmUp, profiled = time.Second, 6 * time.Second
	threads          = 2 // wrk's
	// pinnedRounds is how often a case at a pinned rate is measured, at most.
	pinnedRounds = 3
)

func parseOptions(args []string) (*options, error) {
	o := &options{out: os.Stdout}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.cases, "cases", "", "comma-separated `names` of the rows to measure; empty for all, "+
		"pinned for those at a pinned rate. The document is written only for all")
	f.IntVar(&o.rounds, "rounds", 5, "`number` of measured runs of each row, at most three of them at a pinned rate")
	f.DurationVar(&o.duration, "duration", 3*time.Second, "`time` of each run, in whole seconds")
	f.DurationVar(&o.pinned, "pinned", 10*time.Second, "`time` of each run at a pinned rate, in whole seconds")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections")
	f.StringVar(&o.petstore, "petstore", "bin/petstore", "`program` to measure")
	f.StringVar(&o.results, "results", "", "`file` for the medians in the form of Go's benchmarks")
	f.StringVar(&o.document, "document", "docs/benchmarks.md",
		"Markdown `file` for the results, with a directory of the same name for its chart; empty for none")
	f.StringVar(&o.profile, "profile", "",
		"`directory` for profiles of petstore, taken in a further run of each row; empty for none")
	f.BoolVar(&o.month, "month", false, "give each tenant a number of requests per month, which none uses up. "+
		"The document is not written")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.cases != "" || o.month {
		o.document = ""
	}
	if f.NArg() > 0 || o.rounds < 1 || min(o.duration, o.pinned) < time.Second || o.connections < threads {
		return nil, errors.New("there is an argument, no round, no second, or too few connections")
	}
	return o, nil
}

// measuringTime is how long the cases run, apart from profiles and the checks around each run.
func (o *options) measuringTime(cases []*benchCase) (sum time.Duration) {
	for _, c := range cases {
		rounds, d := o.plan(c)
		sum += warmUp + time.Duration(rounds)*d
	}
	return sum
}

// plan returns how often a case is measured, and how long each time.
func (o *options) plan(c *benchCase) (rounds int, d time.Duration) {
	if c.Rate > 0 {
		return min(o.rounds, pinnedRounds), o.pinned
	}
	return o.rounds, o.duration
}

func (o *options) load(d time.Duration, rate float64) load.Options {
	return load.Options{Connections: o.connections, Threads: threads, Duration: d, Rate: rate}
}
