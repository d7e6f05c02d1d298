package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

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
		LogLevel: o.logLevel, Animals: servers.Animals, Crowd: servers.Crowd,
	}
	o.say("%s", r.Machine)
	wrk, err := load.FindWrk()
	if err != nil {
		return err
	}
	s := &stage{}
	defer func() { err = errors.Join(err, s.tearDown(context.WithoutCancel(ctx))) }()
	if err := s.setUp(ctx, o); err != nil {
		return err
	}
	r.BodySize = len(s.named("list_memory").target.Body)
	if err := s.choose(o.selected()); err != nil {
		return err
	}
	if err := describe(ctx, r, s, wrk); err != nil {
		return err
	}
	if err := rounds(ctx, o, wrk, s.cases); err != nil {
		return err
	}
	if r.Halves, err = halves(ctx, o, s); err != nil {
		return err
	}
	if err := profiles(ctx, o, wrk, s.cases); err != nil {
		return err
	}
	o.say("key look-up and limits by themselves")
	if r.Admissions, err = admission.Measure(ctx, s.redisServer.Database(2)); err != nil {
		return err
	}
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
		{Name: "ulule/limiter", Value: machine.Library("github.com/ulule/limiter/v3")},
		{Name: "PostgreSQL", Value: values[last]},
		{Name: "Redis", Value: s.redisServer.Version},
		{Name: "wrk", Value: wrk.Version(ctx)},
	}
	for _, c := range s.cases {
		r.Series = append(r.Series, c.Series)
	}
	return nil
}

func write(r *report.Report, o *options) error {
	o.say("")
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
