package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/localpg"
	"petstore.example/internal/subprocess"
)

// path is what every case asks for.
const path = "/pets?limit=20"

// stage is all that runs beside the load tool.
type stage struct {
	dir      string
	postgres *servers.Postgres
	redis    *servers.Redis
	body     []byte // the answer that every case must give
	cases    []*contender

	undo []func(context.Context) error
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
	if s.postgres, err = servers.StartPostgres(ctx, os.Stderr); err != nil {
		return err
	}
	s.later(s.postgres.Stop)
	if s.redis, err = servers.StartRedis(ctx, os.Stderr, s.dir); err != nil {
		return err
	}
	s.later(s.redis.Stop)

	memory, err := s.petstore(ctx, o, "list_memory", "")
	if err != nil {
		return err
	}
	memory.About = "`petstore serve` without Redis: limits in the server's memory."
	redis, err := s.petstore(ctx, o, "list_redis", s.redis.URL)
	if err != nil {
		return err
	}
	redis.About = "`petstore serve` with Redis: limits shared by all servers, exact, one script a request."
	redis.processes, redis.Servers = append(redis.processes, s.redis.PID()), append(redis.Servers, "Redis")
	bare, err := s.bare(ctx)
	if err != nil {
		return err
	}
	memory.Baseline, redis.Baseline = bare.Series, bare.Series
	s.cases = []*contender{bare, memory, redis}
	return nil
}

// petstore starts a server on a database of its own with a tenant, its animals and its key.
func (s *stage) petstore(ctx context.Context, o *options, name, redisURL string) (*contender, error) {
	database, err := s.postgres.CreateDatabase(ctx, name)
	if err != nil {
		return nil, err
	}
	key, err := servers.CreateTenant(ctx, database, "bench")
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
	c := &contender{
		Series: &report.Series{Name: name, Servers: []string{"petstore", "PostgreSQL"}},
		target: load.Target{
			URL: server.BaseURL + path, Header: http.Header{"Authorization": {"Bearer " + key}}, Status: http.StatusOK,
		},
		processes: []int{server.PID(), s.postgres.PID()},
		tidy:      server.ForgetLog,
		profile:   server.Profile,
	}
	return c, s.expect(ctx, c)
}

// expect makes the server's answer the one that is wanted from now on, of this case and all others.
func (s *stage) expect(ctx context.Context, c *contender) error {
	status, body, _, err := c.target.Fetch(ctx)
	if err != nil || status != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: the first answer is %d: %.300s", c.Name, status, body))
	}
	if s.body == nil {
		s.body = body
	}
	c.target.Body = s.body
	return nil
}

func (s *stage) bare(ctx context.Context) (*contender, error) {
	server, err := servers.StartBare(ctx, s.dir, s.body)
	if err != nil {
		return nil, err
	}
	s.later(server.Stop)
	return &contender{
		Series: &report.Series{
			Name: "bare_gin", Servers: []string{"Gin"},
			About: "a bare Gin server: `gin.New()` in release mode, one route, the same bytes, fixed.",
		},
		target:    load.Target{URL: server.URL + "?limit=20", Status: http.StatusOK, Body: s.body},
		processes: []int{server.PID()},
	}, nil
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
