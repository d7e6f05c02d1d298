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

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/subprocess"
	"petstore.example/internal/test/pgtest"
)

// listPath is what every list case requests.
const listPath = "/v1/pets?limit=20"

// env is everything that runs beside the load tool.
type env struct {
	dir         string
	postgres    *servers.Postgres
	redisServer *servers.Redis
	// The petstore servers with and without Redis, the same on net/http alone, and the one without Redis that exports traces.
	memory, redis, memoryNetHTTP, redisNetHTTP, memoryTraces *deployment
	// proxied is memory behind an nginx.
	proxied *deployment
	// Every database is a copy of the one of that name, which has the sample.
	sample *servers.Sample
	cases  []*benchCase

	cleanups []func(context.Context) error
}

// deployment is a petstore server, the servers behind it, and its tenants.
type deployment struct {
	*servers.Sample
	server *servers.Petstore
	url    string
	supply *servers.Supply
	// names are those of the processes.
	names     []string
	processes []int
	afterRun  func() error
}

// setUp starts all servers. Call tearDown even after an error.
func (e *env) setUp(ctx context.Context, o *options) (err error) {
	dir, remove, err := pgtest.TempDir(false)
	if err != nil {
		return err
	}
	e.dir = dir
	e.cleanup(func(context.Context) error { remove(); return nil })
	if err := ensureBuilt(ctx, o.petstore); err != nil {
		return err
	}
	if e.postgres, err = servers.StartPostgres(ctx); err != nil {
		return err
	}
	e.cleanup(e.postgres.Stop)
	if e.redisServer, err = servers.StartRedis(ctx, e.dir); err != nil {
		return err
	}
	e.cleanup(e.redisServer.Stop)
	collector, stopCollector, err := servers.StartCollector(ctx)
	if err != nil {
		return err
	}
	e.cleanup(stopCollector)
	if e.sample, err = makeSample(ctx, e.postgres); err != nil {
		return err
	}
	for _, d := range []struct {
		result  **deployment
		options servers.PetstoreOptions
	}{
		{&e.memory, servers.PetstoreOptions{Name: "memory"}},
		{&e.redis, servers.PetstoreOptions{Name: "redis", Redis: e.redisServer.Database(0)}},
		{&e.memoryNetHTTP, servers.PetstoreOptions{Name: "memory_net_http", FastPathOff: true}},
		{&e.redisNetHTTP, servers.PetstoreOptions{Name: "redis_net_http", Redis: e.redisServer.Database(3), FastPathOff: true}},
		{&e.memoryTraces, servers.PetstoreOptions{Name: "memory_traces", Collector: collector}},
	} {
		d.options.Program, d.options.Dir, d.options.LogLevel = o.petstore, e.dir, o.logLevel
		if *d.result, err = e.deploy(ctx, d.options); err != nil {
			return err
		}
	}
	if e.proxied, err = e.behindNginx(ctx, e.memory); err != nil {
		return err
	}
	return e.addCases(ctx)
}

// sampleDatabase is the name of the database of which all others are copies.
const sampleDatabase = "sample"

func makeSample(ctx context.Context, on *servers.Postgres) (*servers.Sample, error) {
	url, err := on.CreateDatabase(ctx, sampleDatabase)
	if err != nil {
		return nil, err
	}
	return servers.Fill(ctx, url)
}

// deploy starts a petstore server on a database of its own.
func (e *env) deploy(ctx context.Context, o servers.PetstoreOptions) (d *deployment, err error) {
	d = &deployment{Sample: e.sample}
	if o.Database, d.supply, err = e.database(ctx, o.Name); err != nil {
		return nil, err
	}
	if d.server, err = servers.StartPetstore(ctx, o); err != nil {
		return nil, err
	}
	e.cleanup(d.server.Stop)
	d.url, d.afterRun = d.server.URL, d.server.TruncateLog
	// It says that Redis was not seen at first, which is not of any run.
	if err := d.server.TruncateLog(); err != nil {
		return nil, err
	}
	d.names, d.processes = []string{"petstore", "PostgreSQL"}, []int{d.server.PID(), e.postgres.PID()}
	if o.Redis != "" {
		d.names, d.processes = append(d.names, "Redis"), append(d.processes, e.redisServer.PID())
	}
	return d, nil
}

// behindNginx starts an nginx before the server of a deployment.
func (e *env) behindNginx(ctx context.Context, d *deployment) (*deployment, error) {
	nginx, err := servers.StartNginx(ctx, e.dir, fmt.Sprintf("nginx_%d", len(e.cleanups)), d.url)
	if err != nil {
		return nil, err
	}
	e.cleanup(nginx.Stop)
	behind := *d
	behind.url = nginx.URL
	behind.names, behind.processes = append([]string{"nginx"}, d.names...), append([]int{nginx.PID()}, d.processes...)
	behind.afterRun = func() error { return errors.Join(nginx.TruncateLog(), d.afterRun()) }
	return &behind, nil
}

// database makes a database with the sample, and its supply.
func (e *env) database(ctx context.Context, name string) (url string, supply *servers.Supply, err error) {
	if url, err = e.postgres.Clone(ctx, sampleDatabase, name); err != nil {
		return "", nil, err
	}
	if supply, err = servers.NewSupply(url, e.sample); err != nil {
		return "", nil, err
	}
	e.cleanup(supply.Close)
	return url, supply, nil
}

// addCases adds petstore's cases with the responses that it gives now, and what they are compared with.
func (e *env) addCases(ctx context.Context) error {
	first := list(e.memory.One)
	first.URL = e.memory.server.URL + listPath
	response, err := first.Fetch(ctx)
	if err != nil {
		return err
	}
	for _, spec := range append(petstoreCases(e, response.Header.Get("ETag")), trafficCases(e)...) {
		if err := e.add(ctx, spec); err != nil {
			return fmt.Errorf("%s: %w", spec.name, err)
		}
	}
	if err := e.addBaselines(ctx); err != nil {
		return err
	}
	if err := e.addStock(ctx); err != nil {
		return err
	}
	for _, c := range e.cases {
		if c.Against != "" {
			c.Baseline = e.find(c.Against).Series
		}
	}
	return nil
}

// add adds one of petstore's cases. Its first response is the one that every run must get.
func (e *env) add(ctx context.Context, p caseSpec) error {
	p.target.URL = p.on.url + p.target.URL
	if p.supply != nil {
		if err := p.supply(ctx, &p.target, 1); err != nil {
			return err
		}
	}
	for range p.target.MaxOther + 1 {
		response, err := p.target.Fetch(ctx)
		if err != nil {
			return err
		}
		p.target.Body = response.Body
	}
	content, err := load.Unpacked(p.target.Body)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte(p.contains)) {
		return fmt.Errorf("the body does not contain %s: %.300s", p.contains, content)
	}
	e.cases = append(e.cases, &benchCase{
		Series:    &report.Series{Name: p.name, Against: p.against, Goal: p.goal, About: p.about, Servers: p.on.names},
		target:    p.target,
		supply:    p.supply,
		processes: p.on.processes,
		afterRun:  p.on.afterRun,
		ready:     p.on.server.Ready,
		logged:    p.on.server.Logged,
		profile:   p.on.server.Profile,
	})
	return nil
}

// find returns the case of that name, or nil.
func (e *env) find(name string) *benchCase {
	i := slices.IndexFunc(e.cases, func(c *benchCase) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return e.cases[i]
}

// cleanup has tearDown call f.
func (e *env) cleanup(f func(context.Context) error) { e.cleanups = append(e.cleanups, f) }

// tearDown calls the cleanups, the last one first.
func (e *env) tearDown(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Backward(e.cleanups) {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

// ensureBuilt builds the program as make does, when it does not exist.
func ensureBuilt(ctx context.Context, program string) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	cmd := exec.Command("go", "build", "-tags", "nomsgpack", "-trimpath", "-o", program, "./cmd/petstore")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build has it
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
