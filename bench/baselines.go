package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// fixedBaselines are cases of bare Gin with a fixed response: the status and the body of a case of petstore.
var fixedBaselines = []struct{ name, path, of, about string }{
	{"bare_gin", "/v1/pets", "list_memory", "bare Gin, `gin.New()` in release mode, one route: the list as fixed bytes."},
	{"bare_304", "/v1/304", "not_modified_memory", "bare Gin: status 304 and nothing else."},
	{"bare_429", "/v1/429", "refused_memory", "bare Gin: the 429's body as fixed bytes."},
	{"bare_banned", "/v1/banned", "banned_memory", "bare Gin: the ban's body as fixed bytes."},
	{"bare_401", "/v1/401", "bad_key", "bare Gin: the 401's body as fixed bytes."},
}

// addBaselines starts the bare servers and adds their cases. They give the responses of the cases that exist so far.
func (e *env) addBaselines(ctx context.Context) error {
	o := servers.BareOptions{}
	for _, b := range fixedBaselines {
		t := e.find(b.of).target
		o.Responses = append(o.Responses, servers.Fixed{Path: b.path, Status: t.Status, Body: t.Body})
	}
	listed := e.find("list_memory").target.Body
	if err := json.Unmarshal(listed, &o.Animals); err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	var err error
	var supply *servers.Supply
	if o.Database, supply, err = e.database(ctx, "bare"); err != nil {
		return err
	}
	o.Tenant = e.sample.Writer.ID
	o.Found = servers.Fixed{Path: "/v1/found", Status: http.StatusOK, Body: listed}
	server, err := servers.StartBare(ctx, e.dir, o)
	if err != nil {
		return err
	}
	e.cleanup(server.Stop)
	fast, err := servers.StartBareOnHTTPFast(ctx, e.dir, o)
	if err != nil {
		return err
	}
	e.cleanup(fast.Stop)
	for i, b := range fixedBaselines {
		t := load.Target{URL: b.path + "?limit=20", Status: o.Responses[i].Status, Body: o.Responses[i].Body}
		e.addBare(server, b.name, "", b.about, t)
		if i == 0 {
			e.addBare(fast, "bare_httpfast", b.name, "bare Gin on `internal/httpfast`, as petstore is: the list as fixed bytes.", t)
		}
	}
	e.addBare(server, "bare_json", fixedBaselines[0].name, "bare Gin: the list written by `c.JSON` for each request.",
		load.Target{URL: servers.JSONPath, Status: http.StatusOK, Body: listed})
	return e.addBareTraffic(ctx, server, supply)
}

// addBareTraffic adds the bare server's cases of writes, and of traffic that is not one key on 64 connections.
func (e *env) addBareTraffic(ctx context.Context, server *servers.Self, stock *servers.Supply) error {
	of := func(name string) load.Target {
		t := e.find(name).target
		_, path, _ := strings.Cut(t.URL, e.memory.url)
		t.URL, t.RequiredHeaders, t.Counted = path, nil, 0
		return t
	}
	for _, c := range []struct {
		name, of, about string
		supply          supply
	}{
		{"bare_create", "create", "bare Gin: reads the same body, runs one prepared `INSERT` through lib/pq, and writes the same response by `c.JSON`.", nil},
		{"bare_patch", "patch", "bare Gin: the same with one prepared `UPDATE`.", nil},
		{"bare_order", "order", "bare Gin: the same with one prepared statement that changes the animal and inserts the order.", stock.Animals},
		{"bare_mixed_1", "mixed_1", "bare Gin: the list as fixed bytes, and 1 % the `INSERT` of `bare_create`.", nil},
		{"bare_mixed_5", "mixed_5", "bare Gin: the list as fixed bytes, and 5 % the `INSERT` of `bare_create`.", nil},
		{"bare_cold", "cold", "bare Gin: one prepared `SELECT` of the key's digest, then the list as fixed bytes; the same connections.", stock.Keys},
	} {
		t := of(c.of)
		if c.of == "cold" {
			t.URL = "/v1/found?limit=20"
		}
		b := e.addBare(server, c.name, "", c.about, t)
		b.supply = c.supply
		b.Servers, b.processes = append(b.Servers, "PostgreSQL"), append(b.processes, e.postgres.PID())
	}
	e.addBare(server, "bare_many_clients", "", "bare Gin: the list as fixed bytes, on as many connections.", of("many_clients"))
	proxied, err := e.behindNginx(ctx, &deployment{url: server.URL, afterRun: func() error { return nil }})
	if err != nil {
		return err
	}
	t := of("list_memory")
	c := e.addBare(server, "bare_proxied", "", "bare Gin: the list as fixed bytes, through the same nginx.", t)
	c.target.URL, c.afterRun = proxied.url+t.URL, proxied.afterRun
	c.Servers, c.processes = append(proxied.names, c.Servers...), append(proxied.processes, c.processes...)
	return nil
}

func (e *env) addBare(server *servers.Self, name, against, about string, t load.Target) *benchCase {
	t.URL = server.URL + t.URL
	c := &benchCase{
		Series:    &report.Series{Name: name, Against: against, About: about, Servers: []string{"Gin"}},
		target:    t,
		processes: []int{server.PID()},
	}
	e.cases = append(e.cases, c)
	return c
}

// addStock adds a build from well-known parts.
func (e *env) addStock(ctx context.Context) error {
	database, _, err := e.database(ctx, "stock")
	if err != nil {
		return err
	}
	server, err := servers.StartStock(ctx, e.dir, servers.StockOptions{Database: database, Redis: e.redisServer.Database(1)})
	if err != nil {
		return err
	}
	e.cleanup(server.Stop)
	t := list(e.sample.One)
	t.RequiredHeaders, t.Body = []string{"X-RateLimit-Remaining"}, e.find("list_memory").target.Body
	c := e.addBare(server, "stock", "bare_gin",
		"a build from well-known parts: a `SELECT` of the key, two calls of ulule/limiter in Redis, the rows by sqlx.", t)
	c.Servers = append(c.Servers, "PostgreSQL", "Redis")
	c.processes = append(c.processes, e.postgres.PID(), e.redisServer.PID())
	return nil
}
