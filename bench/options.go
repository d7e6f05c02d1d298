package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"petstore.example/bench/load"
)

// options are what the benchmark is told.
type options struct {
	out io.Writer

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
	f.IntVar(&o.rounds, "rounds", 5, "`number` of measured runs of each case")
	f.DurationVar(&o.duration, "duration", 5*time.Second, "`time` of each run, in whole seconds")
	f.IntVar(&o.connections, "connections", 64, "`number` of wrk's connections")
	f.IntVar(&o.threads, "threads", min(2, runtime.NumCPU()), "`number` of wrk's threads")
	f.StringVar(&o.logLevel, "log-level", "info", "petstore's log `level`; its default logs every request")
	f.StringVar(&o.petstore, "petstore", "bin/petstore", "`program` to measure; built when it is missing")
	f.StringVar(&o.results, "results", "bench/results.json", "`file` for programs, empty for none")
	f.StringVar(&o.document, "document", "docs/benchmarks.md", "`file` for people, empty for none")
	f.StringVar(&o.profile, "profile", "", "`folder` for profiles of each petstore server, taken in a run of their own; empty for none")
	if err := f.Parse(args); err != nil {
		return nil, err
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

// budget bounds everything together, with a minute to start the servers and to install what is missing.
func (o *options) budget() time.Duration {
	const cases, slack = 3, time.Second
	runs := time.Duration(cases*o.rounds) * (o.duration + slack)
	return time.Minute + cases*(warmUp+slack+profiled) + runs
}

func (o *options) load(d time.Duration) load.Options {
	return load.Options{Connections: o.connections, Threads: o.threads, Duration: d}
}
