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

// options are the command line.
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

// warmUp is how long each case runs before it is measured; profiled is how long it runs while profiles are taken.
const (
	warmUp   = time.Second
	profiled = 6 * time.Second
)

func parseOptions(args []string) (*options, error) {
	o := &options{out: os.Stdout}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.cases, "cases", "", "comma-separated `names` of the cases to measure; empty for all. The document is written only for all")
	f.IntVar(&o.rounds, "rounds", 5, "`number` of measured runs of each case")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "`time` of each run, in whole seconds")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections")
	f.IntVar(&o.threads, "threads", min(2, runtime.NumCPU()), "`number` of wrk's threads")
	f.StringVar(&o.logLevel, "log-level", "info", "petstore's log `level`; info, its default, logs every request")
	f.StringVar(&o.petstore, "petstore", "bin/petstore", "`program` to measure; built if it does not exist")
	f.StringVar(&o.results, "results", "bench/results.json", "JSON `file` for the results; empty for none")
	f.StringVar(&o.document, "document", "docs/benchmarks.md", "Markdown `file` for the results, with a directory of the same name for its charts; empty for none")
	f.StringVar(&o.profile, "profile", "", "`directory` for profiles of petstore, taken in a further run of each case; empty for none")
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
		return errors.New("-duration must be a positive number of whole seconds, as wrk requires")
	case o.threads < 1 || o.connections < o.threads:
		return errors.New("-threads must be at least 1, and -connections at least -threads")
	}
	return nil
}

// measuringTime is how long so many cases run, without profiles.
func (o *options) measuringTime(cases int) time.Duration {
	perCase := warmUp + time.Duration(o.rounds)*o.duration
	halfLoads := time.Duration(2*len(halfLoadCases)*o.rounds) * o.duration
	return time.Duration(cases)*perCase + halfLoads
}

// timeout bounds the whole benchmark, with two minutes to start the servers.
func (o *options) timeout() time.Duration {
	const maxCases, slack = 48, time.Second
	perCase := warmUp + slack + time.Duration(o.rounds)*(o.duration+slack)
	if o.profile != "" {
		perCase += profiled + slack
	}
	return 2*time.Minute + maxCases*perCase
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
