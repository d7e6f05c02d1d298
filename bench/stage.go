package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/localpg"
	"petstore.example/internal/subprocess"
)

// path is what every case of a list asks for.
const path = "/v1/pets?limit=20"

// stage is all that runs beside the load tool.
type stage struct {
	dir           string
	postgres      *servers.Postgres
	redisServer   *servers.Redis
	memory, redis *house
	cases         []*contender

	undo []func(context.Context) error
}

// house is a petstore server, the servers behind it, and its customers.
type house struct {
	*servers.Sample
	server    *servers.Petstore
	names     []string
	processes []int
}

// setUp starts all servers. tearDown must be called also after an error.
func (s *stage) setUp(ctx context.Context, o *options) (err error) {
	dir, remove, err := localpg.TempDir()
	if err != nil {
		return err
	}
	s.dir = dir
	s.later(func(context.Context) error { remove(); return nil })
	if err := ensureBuilt(ctx, o.petstore); err != nil {
		return err
	}
	if s.postgres, err = servers.StartPostgres(ctx); err != nil {
		return err
	}
	s.later(s.postgres.Stop)
	if s.redisServer, err = servers.StartRedis(ctx, s.dir); err != nil {
		return err
	}
	s.later(s.redisServer.Stop)
	if s.memory, err = s.open(ctx, o, "memory", ""); err != nil {
		return err
	}
	if s.redis, err = s.open(ctx, o, "redis", s.redisServer.URL); err != nil {
		return err
	}
	s.redis.names, s.redis.processes = append(s.redis.names, "Redis"), append(s.redis.processes, s.redisServer.PID())
	return s.addCases(ctx)
}

// open starts a petstore server on a database of its own.
func (s *stage) open(ctx context.Context, o *options, name, redisURL string) (*house, error) {
	database, sample, err := s.database(ctx, name, servers.Crowd)
	if err != nil {
		return nil, err
	}
	server, err := servers.StartPetstore(ctx, servers.PetstoreOptions{
		Program: o.petstore, Name: name, Dir: s.dir, Database: database, Redis: redisURL, LogLevel: o.logLevel,
	})
	if err != nil {
		return nil, err
	}
	s.later(server.Stop)
	return &house{sample, server, []string{"petstore", "PostgreSQL"}, []int{server.PID(), s.postgres.PID()}}, nil
}

func (s *stage) database(ctx context.Context, name string, crowd int) (url string, sample *servers.Sample, err error) {
	if url, err = s.postgres.CreateDatabase(ctx, name); err != nil {
		return "", nil, err
	}
	sample, err = servers.Fill(ctx, url, crowd)
	return url, sample, err
}

// addCases adds petstore's cases with the answers that it gives now, and what they are compared with.
func (s *stage) addCases(ctx context.Context) error {
	first := list(s.memory.One)
	first.URL = s.memory.server.URL + path
	answer, err := first.Fetch(ctx)
	if err != nil {
		return err
	}
	for _, spec := range s.petstoreCases(answer.Header.Get("ETag")) {
		if err := s.add(ctx, spec); err != nil {
			return fmt.Errorf("%s: %w", spec.name, err)
		}
	}
	if err := s.addBaselines(ctx); err != nil {
		return err
	}
	if err := s.addStock(ctx); err != nil {
		return err
	}
	for _, c := range s.cases {
		if c.Against != "" {
			c.Baseline = s.named(c.Against).Series
		}
	}
	return nil
}

// add adds a case of petstore's. Its first answer is the one that is wanted from then on.
func (s *stage) add(ctx context.Context, p spec) error {
	p.target.URL = p.on.server.URL + p.target.URL
	for range p.target.Spare + 1 {
		answer, err := p.target.Fetch(ctx)
		if err != nil {
			return err
		}
		p.target.Body = answer.Body
	}
	if !bytes.Contains(p.target.Body, []byte(p.says)) {
		return fmt.Errorf("the answer does not say %s: %.300s", p.says, p.target.Body)
	}
	s.cases = append(s.cases, &contender{
		Series:    &report.Series{Name: p.name, Against: p.against, Aim: p.aim, About: p.about, Servers: p.on.names},
		target:    p.target,
		processes: p.on.processes,
		tidy:      p.on.server.ForgetLog,
		ready:     p.on.server.Ready,
		profile:   p.on.server.Profile,
	})
	return nil
}

// named returns the case of that name, nil when there is none.
func (s *stage) named(name string) *contender {
	i := slices.IndexFunc(s.cases, func(c *contender) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return s.cases[i]
}

func (s *stage) later(undo func(context.Context) error) { s.undo = append(s.undo, undo) }

// tearDown undoes all that was done, the last first.
func (s *stage) tearDown(ctx context.Context) error {
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i](ctx))
	}
	return errors.Join(errs...)
}

// ensureBuilt builds the program as make does, when it is not there.
func ensureBuilt(ctx context.Context, program string) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	cmd := exec.Command("go", "build", "-tags", "nomsgpack", "-trimpath", "-o", program, "./cmd/petstore")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	p, err := subprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
		if err := p.Err(); err != nil {
			return fmt.Errorf("build %s: %w", program, err)
		}
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Stop(ctx, 10*time.Second, syscall.SIGTERM, syscall.SIGKILL))
	}
}
