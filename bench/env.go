package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"petstore.example/bench/load"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/pgtest"
)

// env is everything that runs beside the load tool.
type env struct {
	servers.Cleanups

	dir         string
	postgres    *servers.Postgres
	redisServer *servers.Redis
	// Every database is a copy of the one of that name, which has the sample.
	sample *servers.Sample
	// cases are those at their maximum rates, then those at a pinned rate.
	cases []*benchCase
}

// deployments are the servers that are measured. Those of bare Gin begin when the other cases have
// their responses.
type deployments struct {
	// The petstore servers with and without Redis, the same on net/http alone, the one without
	// Redis that exports traces, and memory behind an nginx.
	memory, redis, memoryNetHTTP, redisNetHTTP, memoryTraces, proxied *deployment
	// Bare Gin, the same with its database, on internal/httpfast, behind an nginx, nginx alone, and
	// a build from well-known parts.
	bare, bareWrites, bareFast, bareProxied, nginxFile, stock *deployment
}

// deployment is a server and the servers behind it.
type deployment struct {
	url string
	// petstore is nil for other servers.
	petstore *servers.Petstore
	database string // its name, if it has one
	supply   *servers.Supply
	// names are those of the processes; their children count too.
	names     []string
	processes []int
	// logs are emptied after each run.
	logs []log
}

type log interface{ TruncateLog() error }

func (d *deployment) afterRun() (err error) {
	for _, l := range d.logs {
		err = errors.Join(err, l.TruncateLog())
	}
	return err
}

// ofDatabase matches the command line of a process of PostgreSQL that works for a client, and the
// name of its database.
var ofDatabase = regexp.MustCompile(`^postgres: petstore: (?:bench_api|postgres) (\w+) `)

// isForeign reports whether a process of that command line works for another deployment's database.
func (d *deployment) isForeign(commandLine string) bool {
	match := ofDatabase.FindStringSubmatch(commandLine)
	return match != nil && match[1] != d.database
}

// ready reports whether the server is ready and not degraded.
func (d *deployment) ready(ctx context.Context) bool {
	return d.petstore == nil || d.petstore.Ready(ctx)
}

// with returns the same with another process, whose CPU time counts too.
func (d deployment) with(name string, pid int) deployment {
	d.names, d.processes = append(slices.Clip(d.names), name), append(slices.Clip(d.processes), pid)
	return d
}

// setUp starts all servers and makes all cases. Call TearDown even after an error.
func (e *env) setUp(ctx context.Context, o *options) (err error) {
	defer must.Recover(&err)
	dir, remove, err := pgtest.TempDir(false)
	must.Do(err)
	e.dir = dir
	e.Cleanup(func(context.Context) error { remove(); return nil })
	if _, err := os.Stat(o.petstore); err != nil {
		must.Do(servers.Build(ctx, "petstore", o.petstore))
	}
	e.postgres = must.Get(servers.StartPostgres(ctx, nil))
	e.Cleanup(e.postgres.Stop)
	e.redisServer = must.Get(servers.StartRedis(ctx, e.dir))
	e.Cleanup(e.redisServer.Stop)
	collector, stopCollector, err := servers.StartCollector(ctx)
	must.Do(err)
	e.Cleanup(stopCollector)
	e.sample = must.Get(servers.Fill(ctx, must.Get(e.postgres.CreateDatabase(ctx, sampleDatabase))))
	base := servers.PetstoreOptions{Program: o.petstore, Dir: e.dir, LogLevel: o.logLevel}
	d := &deployments{
		memory:        e.deploy(ctx, base, servers.PetstoreOptions{Name: "memory"}),
		redis:         e.deploy(ctx, base, servers.PetstoreOptions{Name: "redis", Redis: e.redisServer.Database(0)}),
		memoryNetHTTP: e.deploy(ctx, base, servers.PetstoreOptions{Name: "memory_net_http", FastPathOff: true}),
		redisNetHTTP: e.deploy(
			ctx,
			base,
			servers.PetstoreOptions{Name: "redis_net_http", Redis: e.redisServer.Database(3), FastPathOff: true},
		),
		memoryTraces: e.deploy(ctx, base, servers.PetstoreOptions{Name: "memory_traces", Collector: collector}),
		bare:         &deployment{},
		bareWrites:   &deployment{},
		bareFast:     &deployment{},
		bareProxied:  &deployment{},
		nginxFile:    &deployment{},
		stock:        &deployment{},
	}
	d.proxied = e.behindNginx(ctx, "nginx", d.memory)
	rows := table(d, e.sample)
	for _, r := range rows {
		e.cases = append(e.cases, &benchCase{
			Series: &report.Series{
				Name:    r.name,
				Against: r.against,
				Goal:    r.goal,
				About:   r.about,
			},
			request: r.request,
			on:      r.on,
		})
	}
	for _, bare := range []bool{false, true} {
		if bare {
			e.startBare(ctx, d)
		}
		for _, c := range e.cases {
			if (c.of != "") == bare {
				must.Do(e.complete(ctx, c))
			}
		}
	}
	e.pin()
	return nil
}

// pin makes the cases at a pinned rate from those at their maximum rates.
func (e *env) pin() {
	at := func(name string, rate float64) string { return fmt.Sprintf("%s@%.0f", name, rate) }
	for i, rate := range pinnedRates {
		baseline := at(pinned[0].name, rate)
		for _, p := range pinned {
			c := *e.find(p.name)
			c.Series = &report.Series{Name: at(p.name, rate), Rate: rate, Servers: c.Servers, Goal: p.goals[rate]}
			if c.Name != baseline {
				c.Against, c.Baseline = baseline, e.find(baseline).Series
			}
			if i > 0 {
				c.lower = e.find(at(p.name, pinnedRates[i-1]))
			}
			e.cases = append(e.cases, &c)
		}
	}
}

// chosen returns the cases at a pinned rate, or the others.
func (e *env) chosen(pinned bool) []*benchCase {
	return slices.DeleteFunc(slices.Clone(e.cases), func(c *benchCase) bool { return (c.Rate > 0) != pinned })
}

// sampleDatabase is the name of the database of which all others are copies.
const sampleDatabase = "sample"

// deploy starts a petstore server on a database of its own.
func (e *env) deploy(ctx context.Context, base, o servers.PetstoreOptions) *deployment {
	o.Program, o.Dir, o.LogLevel = base.Program, base.Dir, base.LogLevel
	d := deployment{database: o.Name}
	o.Database, d.supply = e.database(ctx, o.Name)
	d.petstore = must.Get(servers.StartPetstore(ctx, o))
	e.Cleanup(d.petstore.Stop)
	d.url, d.logs = d.petstore.URL, append(d.logs, d.petstore)
	must.Do(d.afterRun()) // It says that Redis was not seen at first, which is not of any run.
	d = d.with("petstore", d.petstore.PID()).with(postgreSQL, e.postgres.PID())
	if o.Redis != "" {
		d = d.with("Redis", e.redisServer.PID())
	}
	return &d
}

// postgreSQL is the name of its processes.
const postgreSQL = "PostgreSQL"

// behindNginx starts an nginx before the server of a deployment.
func (e *env) behindNginx(ctx context.Context, name string, d *deployment) *deployment {
	nginx := must.Get(servers.StartNginx(ctx, e.dir, name, d.url))
	e.Cleanup(nginx.Stop)
	behind := *d
	behind.url, behind.logs = nginx.URL, append(slices.Clip(d.logs), nginx)
	behind.names, behind.processes = append([]string{"nginx"}, d.names...), append([]int{nginx.PID()}, d.processes...)
	return &behind
}

// database makes a database with the sample, and its supply.
func (e *env) database(ctx context.Context, name string) (url string, supply *servers.Supply) {
	url = must.Get(e.postgres.Clone(ctx, sampleDatabase, name))
	return url, servers.NewSupply(url, e.sample)
}

// startBare starts the other servers, which give the responses of petstore's cases.
func (e *env) startBare(ctx context.Context, d *deployments) {
	listed := e.find("list_memory").Body
	o := servers.BareOptions{
		Tenant: e.sample.Writer.ID,
		Found:  servers.Fixed{Path: servers.FoundPath, Status: http.StatusOK, Body: listed},
	}
	for _, c := range e.cases {
		if path, _, _ := strings.Cut(c.URL, "?"); c.on == d.bare && !c.withRequest {
			of := e.find(c.of)
			o.Responses = append(o.Responses, servers.Fixed{Path: path, Status: of.Status, Body: of.Body})
		}
	}
	start := func(name string, options any) deployment {
		server := must.Get(servers.StartSelf(ctx, e.dir, name, options))
		e.Cleanup(server.Stop)
		return deployment{url: server.URL}.with("Gin", server.PID())
	}
	var supply *servers.Supply
	o.Database, supply = e.database(ctx, "bare")
	*d.bare, *d.bareFast = start(servers.Bare, o), start(servers.BareOnHTTPFast, o)
	*d.bareWrites, *d.bareProxied = d.bare.with(postgreSQL, e.postgres.PID()), *e.behindNginx(ctx, "nginx_bare", d.bare)
	d.bareWrites.database, d.bareWrites.supply = "bare", supply
	file := must.Get(servers.StartNginxFile(ctx, e.dir, listed))
	e.Cleanup(file.Stop)
	*d.nginxFile = deployment{url: file.URL, logs: []log{file}}.with("nginx", file.PID())
	stock := servers.StockOptions{Redis: e.redisServer.Database(1)}
	stock.Database, _ = e.database(ctx, "stock")
	*d.stock = start(servers.Stock, stock).with(postgreSQL, e.postgres.PID()).with("Redis", e.redisServer.PID())
	d.stock.database = "stock"
}

// complete fills in a case's URL, and the response that every run must get.
func (e *env) complete(ctx context.Context, c *benchCase) error {
	c.Servers = c.on.names
	if c.Against != "" {
		c.Baseline = e.find(c.Against).Series
	}
	if c.of != "" {
		c.answerLike(e.find(c.of))
		return nil
	}
	c.URL = c.on.url + c.URL
	if _, err := c.refill(ctx, 1); err != nil {
		return err
	}
	if _, conditional := c.Header[ifNoneMatch]; conditional {
		response, err := c.Fetch(ctx) // No page has an empty ETag.
		if err != nil {
			return err
		}
		c.Header.Set(ifNoneMatch, response.Header.Get("ETag"))
	}
	for range c.MaxOther + 1 {
		response, err := c.Fetch(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		c.Body = response.Body
	}
	content, err := load.Unpacked(c.Body)
	if err == nil && !bytes.Contains(content, []byte(c.contains)) {
		err = fmt.Errorf("%s: the body does not contain %s: %.300s", c.Name, c.contains, content)
	}
	return err
}

// answerLike gives the case the response of another one and, if it is to have it, the request.
func (c *benchCase) answerLike(of *benchCase) {
	t := load.Target{Status: of.Status, Body: of.Body}
	if c.withRequest {
		t, c.supply = of.Target, of.supply
		t.Counted = 0
	}
	t.URL, t.RequiredHeaders = c.on.url+c.URL, c.RequiredHeaders
	c.Target = t
}

// find returns the case of that name, or nil.
func (e *env) find(name string) *benchCase {
	i := slices.IndexFunc(e.cases, func(c *benchCase) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return e.cases[i]
}

// allPinned is the name for all cases at a pinned rate.
const allPinned = "pinned"

// choose keeps the cases of those names, all for none, and what they are compared with.
func (e *env) choose(names []string) error {
	keep := map[string]bool{}
	for _, name := range names {
		if name == allPinned {
			continue
		}
		for ; name != ""; name = e.find(name).Against {
			if e.find(name) == nil {
				return fmt.Errorf("there is no case %q", name)
			}
			keep[name] = true
		}
	}
	e.cases = slices.DeleteFunc(e.cases, func(c *benchCase) bool {
		return len(names) > 0 && !keep[c.Name] && !(c.Rate > 0 && slices.Contains(names, allPinned))
	})
	return nil
}
