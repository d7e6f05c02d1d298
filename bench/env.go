package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"petstore.example/bench/cputime"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/pgtest"
)

// env holds all that runs beside the load tool.
type env struct {
	servers.Cleanups
	*options

	dir      string
	postgres *pgtest.Server
	redis    *servers.Server
	redisURL string // without the number of a database
	// sample is in the database from which all others are copied.
	sample *servers.Sample
	// deployments are the measured servers, by name.
	deployments map[string]deployment
	// cases are the cases at maximum rates, followed by those at a pinned rate.
	cases []*benchCase
}

// deployment is a server and the servers behind it.
type deployment struct {
	url string
	// petstore is nil for other servers.
	petstore *servers.Server
	database string // its name, if it has one
	supply   *servers.Supply
	// names are the names of the processes. Their children count too.
	names     []string
	processes []int
}

// ofDatabase matches the command line of a PostgreSQL process that works for a client; its group is
// the name of the database.
var ofDatabase = regexp.MustCompile(`^postgres: petstore: (?:bench_api|postgres) (\w+) `)

// isForeign reports whether the process with that command line works for another deployment's
// database. Even without load the other servers do a little, which would add 1 µs to each of 5,000
// requests a second.
func (d *deployment) isForeign(commandLine string) bool {
	match := ofDatabase.FindStringSubmatch(commandLine)
	return match != nil && match[1] != d.database
}

// ready reports whether the server is ready and not degraded.
func (d *deployment) ready(ctx context.Context) bool {
	return d.petstore == nil || servers.Ready(ctx, d.petstore)
}

// cpu returns the CPU time that each process has used so far.
func (d *deployment) cpu() (used []time.Duration, err error) {
	for _, pid := range d.processes {
		one, failed := cputime.Of(pid, d.isForeign)
		used, err = append(used, one), errors.Join(err, failed)
	}
	return used, err
}

// with returns the deployment with one more process whose CPU time counts.
func (d deployment) with(name string, pid int) deployment {
	d.names, d.processes = append(slices.Clip(d.names), name), append(slices.Clip(d.processes), pid)
	return d
}

const (
	sampleDatabase = "sample"
	postgreSQL     = "PostgreSQL" // the name of its processes
)

// setUp starts all servers and makes all cases. Call TearDown even after an error.
func (e *env) setUp(ctx context.Context, o *options) (err error) {
	defer must.Recover(&err)
	dir, remove, err := pgtest.TempDir(false)
	must.Do(err)
	e.dir, e.options = dir, o
	e.Cleanup(func(context.Context) error { remove(); return nil })
	e.postgres = must.Get(pgtest.Start(ctx, false, nil))
	e.Cleanup(e.postgres.Stop)
	e.redis, e.redisURL, err = servers.StartRedis(ctx, e.dir)
	must.Do(err)
	e.Cleanup(e.redis.Stop)
	e.sample = must.Get(servers.Fill(ctx, must.Get(servers.CreateDatabase(ctx, e.postgres, sampleDatabase)), o.month))
	e.deployments = map[string]deployment{
		"memory":   e.deploy(ctx, "memory", ""),
		"uncached": e.deploy(ctx, "uncached", "", "PETSTORE_LIST_CACHE_BYTES=0"),
		"redis":    e.deploy(ctx, "redis", e.redisURL+"0"),
		"net_http": e.deploy(ctx, "net_http", "", "PETSTORE_HTTP_FAST_PATH=off"),
	}
	e.behindNginx(ctx, "proxied", "memory")
	e.behindNginx(ctx, "proxied_net_http", "net_http")
	e.addCases(table(e.sample))
	for _, c := range e.cases {
		if c.of == "" {
			must.Do(e.complete(ctx, c))
		}
	}
	e.startBare(ctx)
	for _, c := range e.cases {
		if c.of != "" {
			c.answerLike(e.find(c.of), e.deployments[c.deployed])
		}
		c.Servers = c.on.names
	}
	e.pin()
	return nil
}

func (e *env) addCases(rows []row) {
	for _, r := range rows {
		c := &benchCase{Series: &report.Series{Name: r.name, About: r.about}, request: r.request, deployed: r.on}
		if r.against != "" {
			c.Baseline = e.find(r.against).Series
		}
		e.cases = append(e.cases, c)
	}
}

// pin makes the cases at a pinned rate from the cases at maximum rates.
func (e *env) pin() {
	for _, rate := range pinnedRates {
		add := func(name, about string, baseline *report.Series) *report.Series {
			c := *e.find(name)
			at := fmt.Sprintf("%s@%.0f", name, rate)
			c.Series = &report.Series{Name: at, About: about, Rate: rate, Servers: c.Servers, Baseline: baseline}
			e.cases = append(e.cases, &c)
			return c.Series
		}
		baseline := add(pinnedBaseline, "", nil)
		for _, name := range pinned {
			add(name, fmt.Sprintf("`%s` at %.0f requests per second", name, rate), baseline)
		}
	}
}

// deploy starts a petstore server on a database of its own.
func (e *env) deploy(ctx context.Context, name, redis string, settings ...string) deployment {
	d := deployment{database: name}
	o := servers.PetstoreOptions{Program: e.petstore, Dir: e.dir, Name: name, Redis: redis, Settings: settings}
	o.Database, d.supply = e.database(ctx, name)
	d.petstore = must.Get(servers.StartPetstore(ctx, o))
	e.Cleanup(d.petstore.Stop)
	d.url = d.petstore.URL
	d = d.with("petstore", d.petstore.PID()).with(postgreSQL, e.postgres.PID())
	if redis != "" {
		d = d.with("Redis", e.redis.PID())
	}
	return d
}

// behindNginx starts an nginx in front of a deployment's server.
func (e *env) behindNginx(ctx context.Context, name, server string) {
	d := e.deployments[server]
	nginx := must.Get(servers.StartNginx(ctx, e.dir, name, d.url))
	e.Cleanup(nginx.Stop)
	d.url = nginx.URL
	d.names, d.processes = append([]string{"nginx"}, d.names...), append([]int{nginx.PID()}, d.processes...)
	e.deployments[name] = d
}

// database makes a database with the sample, and its supply.
func (e *env) database(ctx context.Context, name string) (url string, supply *servers.Supply) {
	url = must.Get(servers.Clone(ctx, e.postgres, sampleDatabase, name))
	return url, servers.NewSupply(url, e.sample)
}

// startBare starts the other servers with the responses of petstore's cases.
func (e *env) startBare(ctx context.Context) {
	listed := e.find("list").Body
	o := servers.BareOptions{
		Found:   servers.Fixed{Path: servers.FoundPath, Status: http.StatusOK, Body: listed},
		Tenants: map[string]int64{},
	}
	for _, t := range e.sample.Many {
		o.Tenants[t.Key] = t.ID
	}
	for _, c := range e.cases {
		if c.deployed == "bare" {
			path, _, _ := strings.Cut(c.URL, "?")
			of := e.find(c.of)
			o.Responses = append(o.Responses, servers.Fixed{Path: path, Status: of.Status, Body: of.Body})
		}
	}
	start := func(name string, options any) deployment {
		server := must.Get(servers.StartSelf(ctx, e.dir, name, options))
		e.Cleanup(server.Stop)
		return deployment{url: server.URL, database: name}.with("Gin", server.PID())
	}
	var supply *servers.Supply
	o.Database, supply = e.database(ctx, "bare")
	bare := start("bare", o)
	e.deployments["bare"] = bare
	e.behindNginx(ctx, "bare_proxied", "bare")
	bare.supply = supply
	e.deployments["bare_writes"] = bare.with(postgreSQL, e.postgres.PID())
	file := must.Get(servers.StartNginxFile(ctx, e.dir, listed))
	e.Cleanup(file.Stop)
	e.deployments["nginx_file"] = deployment{url: file.URL}.with("nginx", file.PID())
	stock := servers.StockOptions{Redis: e.redisURL + "1"}
	stock.Database, _ = e.database(ctx, "stock")
	e.deployments["stock"] = start("stock", stock).with(postgreSQL, e.postgres.PID()).with("Redis", e.redis.PID())
}

// complete sets a case's server, its URL, and the response that every run must get.
func (e *env) complete(ctx context.Context, c *benchCase) error {
	c.on = e.deployments[c.deployed]
	c.URL = c.on.url + c.URL
	if err := c.refill(ctx, 1); err != nil {
		return err
	}
	if _, conditional := c.Header[ifNoneMatch]; conditional {
		response := must.Get(c.Fetch(ctx)) // The empty ETag matches no page.
		c.Header.Set(ifNoneMatch, response.Header.Get("ETag"))
	}
	for range c.MaxOther + 1 {
		c.Body = must.Get(c.Fetch(ctx)).Body
	}
	return nil
}

// answerLike gives the case the request and the response of the case of.
func (c *benchCase) answerLike(of *benchCase, on deployment) {
	path, required := c.URL, c.RequiredHeaders
	c.Target, c.supply, c.on = of.Target, of.supply, on
	c.URL, c.RequiredHeaders = on.url+path, required
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

// choose keeps the cases with these comma-separated names (all if there are none), and their
// baselines.
func (e *env) choose(list string) error {
	if list == "" {
		return nil
	}
	names := strings.Split(list, ",")
	keep := map[*report.Series]bool{}
	for _, c := range e.cases {
		if slices.Contains(names, c.Name) || c.Rate > 0 && slices.Contains(names, allPinned) {
			for s := c.Series; s != nil; s = s.Baseline {
				keep[s] = true
			}
		}
	}
	for _, name := range names {
		if name != allPinned && e.find(name) == nil {
			return fmt.Errorf("there is no row %q", name)
		}
	}
	e.cases = slices.DeleteFunc(e.cases, func(c *benchCase) bool { return !keep[c.Series] })
	return nil
}
