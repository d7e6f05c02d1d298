package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// bare is a baseline: a fixed answer whose bytes and status are those of a case of petstore's.
type bare struct{ name, path, of, about string }

var bares = []bare{
	{"bare_gin", "/v1/pets", "list_memory", "bare Gin, `gin.New()` in release mode, one route: the list's bytes, fixed."},
	{"bare_304", "/v1/304", "not_modified_memory", "bare Gin: status 304 and nothing else."},
	{"bare_429", "/v1/429", "refused_memory", "bare Gin: the refusal's bytes, fixed."},
	{"bare_banned", "/v1/banned", "banned_memory", "bare Gin: the ban's bytes, fixed."},
	{"bare_401", "/v1/401", "bad_key", "bare Gin: the 401's bytes, fixed."},
}

// addBaselines starts the bare server, which gives the answers that the cases so far are to get, and adds its cases.
func (s *stage) addBaselines(ctx context.Context) error {
	o := servers.BareOptions{}
	for _, b := range bares {
		t := s.named(b.of).target
		o.Answers = append(o.Answers, servers.Fixed{Path: b.path, Status: t.Status, Body: t.Body})
	}
	listed := s.named("list_memory").target.Body
	if err := json.Unmarshal(listed, &o.Animals); err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	var err error
	var sample *servers.Sample
	if o.Database, sample, err = s.database(ctx, "bare", 0); err != nil {
		return err
	}
	o.Tenant = sample.Writer.ID
	server, err := servers.StartBare(ctx, s.dir, o)
	if err != nil {
		return err
	}
	s.later(server.Stop)
	for i, b := range bares {
		s.addBare(server, b.name, b.about, load.Target{URL: b.path + "?limit=20", Status: o.Answers[i].Status, Body: o.Answers[i].Body})
	}
	s.addBare(server, "bare_json", "bare Gin: the list written by `c.JSON` for each request.",
		load.Target{URL: servers.JSONPath, Status: http.StatusOK, Body: listed})
	s.named("bare_json").Against = "bare_gin"
	fast, err := servers.StartBareOnHTTPFast(ctx, s.dir, servers.BareOptions{Answers: o.Answers[:1], Database: o.Database, Tenant: o.Tenant})
	if err != nil {
		return err
	}
	s.later(fast.Stop)
	s.addBare(fast, "bare_httpfast", "bare Gin on `internal/httpfast`, as petstore is: the list's bytes, fixed.",
		load.Target{URL: bares[0].path + "?limit=20", Status: http.StatusOK, Body: listed})
	s.named("bare_httpfast").Against = "bare_gin"
	insert := create(servers.Tenant{})
	insert.URL, insert.Wants, insert.Costs, insert.Body = servers.CreatePath, nil, 0, s.named("create").target.Body
	s.addBare(server, "bare_create", "bare Gin: reads the same body, does one prepared `INSERT` through lib/pq, and writes the same answer by `c.JSON`.",
		insert, s.postgres.PID())
	return nil
}

func (s *stage) addBare(server *servers.Self, name, about string, t load.Target, postgres ...int) {
	t.URL = server.URL + t.URL
	c := &contender{
		Series:    &report.Series{Name: name, About: about, Servers: []string{"Gin"}},
		target:    t,
		processes: append([]int{server.PID()}, postgres...),
	}
	if len(postgres) > 0 {
		c.Servers = append(c.Servers, "PostgreSQL")
	}
	s.cases = append(s.cases, c)
}

// addStock adds the obvious build.
func (s *stage) addStock(ctx context.Context) error {
	database, sample, err := s.database(ctx, "stock", 0)
	if err != nil {
		return err
	}
	server, err := servers.StartStock(ctx, s.dir, servers.StockOptions{Database: database, Redis: s.redisServer.Database(1)})
	if err != nil {
		return err
	}
	s.later(server.Stop)
	t := list(sample.One)
	t.URL, t.Wants = server.URL+path, []string{"X-RateLimit-Remaining"}
	t.Body = s.named("list_memory").target.Body
	s.cases = append(s.cases, &contender{
		Series: &report.Series{
			Name: "stock", Against: "bare_gin", Servers: []string{"Gin", "PostgreSQL", "Redis"},
			About: "the obvious build for comparison: a `SELECT` of the key, two calls of ulule/limiter in Redis, the rows by sqlx.",
		},
		target:    t,
		processes: []int{server.PID(), s.postgres.PID(), s.redisServer.PID()},
	})
	return nil
}
