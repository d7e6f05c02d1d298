package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"petstore.example/bench/admission"
	"petstore.example/bench/load"
	"petstore.example/bench/machine"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// run measures everything and writes it down.
func run(ctx context.Context, o *options) (err error) {
	r := &report.Report{
		Machine: machine.Describe(), Rounds: o.rounds, Duration: o.duration, Connections: o.connections, Threads: o.threads,
		LogLevel: o.logLevel, Animals: servers.Animals,
		AdmissionTime: admission.MaxTime, AdmissionMost: admission.MaxAllocations,
	}
	o.say("%s", r.Machine)
	wrk, err := load.FindWrk(ctx, os.Stderr)
	if err != nil {
		return err
	}
	s := &stage{}
	defer func() { err = errors.Join(err, s.tearDown(context.WithoutCancel(ctx))) }()
	if err := s.setUp(ctx, o); err != nil {
		return err
	}
	if err := describe(ctx, r, s, wrk); err != nil {
		return err
	}
	if err := rounds(ctx, o, wrk, s.cases); err != nil {
		return err
	}
	if err := profiles(ctx, o, wrk, s.cases); err != nil {
		return err
	}
	o.say("key look-up and both windows in memory")
	testing.Init()
	r.Admission = testing.Benchmark(admission.Benchmark)
	return write(r, o)
}

func (o *options) say(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// describe adds what the figures depend on.
func describe(ctx context.Context, r *report.Report, s *stage, wrk *load.Wrk) error {
	names := []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "shared_buffers", "max_connections", "server_version"}
	values, err := s.postgres.Settings(ctx, names...)
	if err != nil {
		return err
	}
	last := len(names) - 1
	for i, name := range names[:last] {
		r.Settings = append(r.Settings, report.Fact{Name: name, Value: values[i]})
	}
	r.Versions = []report.Fact{
		{Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go")},
		{Name: "Gin", Value: machine.Library("github.com/gin-gonic/gin")},
		{Name: "lib/pq", Value: machine.Library("github.com/lib/pq")},
		{Name: "go-redis", Value: machine.Library("github.com/redis/go-redis/v9")},
		{Name: "PostgreSQL", Value: values[last]},
		{Name: "Redis", Value: s.redis.Version},
		{Name: "wrk", Value: wrk.Version(ctx)},
	}
	r.BodySize = len(s.body)
	for _, c := range s.cases {
		r.Series = append(r.Series, c.Series)
	}
	return nil
}

// rounds warms all cases up and then measures each once a round, in turn.
func rounds(ctx context.Context, o *options, wrk *load.Wrk, cases []*contender) error {
	for _, c := range cases {
		if _, err := c.run(ctx, wrk, o.load(warmUp)); err != nil {
			return fmt.Errorf("warm up %s: %w", c.Name, err)
		}
	}
	for i := range o.rounds {
		for _, c := range cases {
			if err := c.measure(ctx, wrk, o.load(o.duration)); err != nil {
				return err
			}
			run := c.Runs[i]
			o.say("round %d of %d  %-12s %8.0f requests/s  CPU %v  p99 %.2f ms  others %.0f %%",
				i+1, o.rounds, c.Name, run.RPS, run.CPU, run.P99.Seconds()*1e3, 100*run.Others)
		}
	}
	return nil
}

func write(r *report.Report, o *options) error {
	o.say("")
	if err := r.WriteTable(o.out); err != nil {
		return err
	}
	for file, write := range map[string]func(string) error{o.results: r.WriteResults, o.document: r.WriteDocument} {
		if file == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := write(file); err != nil {
			return err
		}
	}
	return nil
}
