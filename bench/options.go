package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"petstore.example/bench/load"
)

// options are what the benchmark is told.
type options struct {
	out io.Writer

	cases       string
	rounds      int
	duration    time.Duration
	connections int
	threads     int
	logLevel    string
	petstore    string
	results     string
	document    string
	profile     string
}

// warmUp is how long each case runs before it is measured, profiled how long with a profile being taken.
const (
	warmUp   = 2 * time.Second
	profiled = 6 * time.Second
)

func parseOptions(args []string) (*options, error) {
	o := &options{out: os.Stdout}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.cases, "cases", "", "`names` of the cases to measure, with commas; empty for all. With some only, the document is not written")
	f.IntVar(&o.rounds, "rounds", 5, "`number` of measured runs of each case")
	f.DurationVar(&o.duration, "duration", 3*time.Second, "`time` of each run, in whole seconds")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections")
	f.IntVar(&o.threads, "threads", min(2, runtime.NumCPU()), "`number` of wrk's threads")
	f.StringVar(&o.logLevel, "log-level", "info", "petstore's log `level`; its default logs every request")
	f.StringVar(&o.petstore, "petstore", "bin/petstore", "`program` to measure; built when it is missing")
	f.StringVar(&o.results, "results", "bench/results.json", "`file` for programs, empty for none")
	f.StringVar(&o.document, "document", "docs/benchmarks.md", "`file` for people, with a folder of the same name for its pictures; empty for none")
	f.StringVar(&o.profile, "profile", "", "`folder` for profiles of petstore, a run of each case for itself; empty for none")
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
	case o.duration < time.Second || o.duration%time.Second != 0:
		return errors.New("-duration must be whole seconds, at least one: wrk knows no others")
	case o.threads < 1 || o.connections < o.threads:
		return errors.New("-connections must be at least -threads, and that at least 1")
	}
	return nil
}

// budget bounds everything together, with two minutes to start the servers.
func (o *options) budget() time.Duration {
	const most, slack = 25, time.Second
	runs := time.Duration(most*o.rounds) * (o.duration + slack)
	return 2*time.Minute + most*(warmUp+slack+profiled+slack) + runs
}

func (o *options) load(d time.Duration) load.Options {
	return load.Options{Connections: o.connections, Threads: o.threads, Duration: d}
}

// selected returns the names of the cases to measure, nil for all.
func (o *options) selected() []string {
	if o.cases == "" {
		return nil
	}
	return strings.Split(o.cases, ",")
}
