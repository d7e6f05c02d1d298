package main

import (
	"slices"

	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// row is one case in the table of all. The rest of its benchCase follows from it.
type row struct {
	name string
	on   *deployment
	// against is the case that this one is compared with.
	against string
	goal    report.Goal
	request request
	about   string
}

// pinnedRates are the rates, in requests per second, at which pinned cases are measured too.
var pinnedRates = []float64{1_000, 5_000, 10_000, 20_000}

// pinned are the names of those cases, the one first with which the others are compared, and their
// goals at some of the rates.
var pinned = []struct {
	name  string
	goals map[float64]report.Goal
}{
	{name: "bare_gin"},
	{"list_memory", map[float64]report.Goal{5_000: {CPURatio: .85}, 10_000: {P99Ratio: 1.15}, 20_000: {CPURatio: .75}}},
	{"list_redis", map[float64]report.Goal{5_000: {CPURatio: 1.7}, 10_000: {P99Ratio: 1.15}, 20_000: {CPURatio: 1.2}}},
	{
		"refused_memory",
		map[float64]report.Goal{
			1_000:  {CPURatio: .8},
			5_000:  {CPURatio: .8},
			10_000: {CPURatio: .8},
			20_000: {CPURatio: .8},
		},
	},
	{name: "nginx_file"},
	{name: "stock"},
}

// table returns all cases, each baseline before what is compared with it, so that a disturbance
// affects both.
func table(d *deployments, s *servers.Sample) []row {
	return slices.Concat(lists(d, s), refusals(d, s), writes(d, s), traffic(d, s))
}

//nolint:funlen // a table of cases
func lists(d *deployments, s *servers.Sample) []row {
	m, r := d.memory, d.redis
	return []row{
		{
			"bare_gin",
			d.bare,
			"",
			goal(0, 0),
			fixed("list_memory", listPath),
			"bare Gin, `gin.New()` in release mode, one route: the list as fixed bytes.",
		},
		{"list_memory", m, "bare_gin", goal(1, 16), list(s.One),
			"`GET /v1/pets?limit=20` with a key and a plan's two limits, `petstore serve` without Redis."},
		{"list_ranged", m, "list_memory", goal(.97, 0), list(s.Ranged),
			"the same as `list_memory`, with a key for reading from 20 ranges of addresses, 19 of them IPv6."},
		{
			"list_memory_net_http",
			d.memoryNetHTTP,
			"bare_gin",
			goal(.75, 0),
			list(s.One),
			"the same with `PETSTORE_HTTP_FAST_PATH=off`.",
		},
		{"list_memory_traces", d.memoryTraces, "list_memory", goal(.90, 0), list(s.One),
			"the same as `list_memory`, with one trace in a hundred exported ([tracing.md](tracing.md))."},
		{"list_memory_traces_all", d.memoryTraces, "list_memory", goal(.75, 0), traced(s.One),
			"the same as `list_memory`, with every request exported, or dropped when the queue is full."},
		{"list_gzip", m, "list_memory", goal(.95, 0), compressed(s.One),
			"the same as `list_memory`, with `Accept-Encoding: gzip`: the page keeps its compressed form."},
		{"list_memory_256", m, "list_memory", goal(.95, 0), list(s.Many[:256]...),
			"the same as `list_memory`, with 256 tenants in turn, each with its own key and animals."},
		{
			"list_redis",
			r,
			"bare_gin",
			goal(1, 24),
			list(s.One),
			"`GET /v1/pets?limit=20`, with exact limits that all servers share in Redis.",
		},
		{
			"list_redis_net_http",
			d.redisNetHTTP,
			"bare_gin",
			goal(.50, 0),
			list(s.One),
			"the same with `PETSTORE_HTTP_FAST_PATH=off`.",
		},
		{
			"list_redis_256",
			r,
			"list_redis",
			goal(.95, 0),
			list(s.Many[:256]...),
			"the same as `list_redis`, with 256 tenants in turn.",
		},
		{"bare_httpfast", d.bareFast, "bare_gin", goal(0, 0), fixed("list_memory", listPath),
			"bare Gin on `internal/httpfast`, as petstore is: the list as fixed bytes."},
		{
			"nginx_file",
			d.nginxFile,
			"bare_gin",
			goal(0, 0),
			like("list_memory", listPath),
			"nginx: the list as a file, with `limit_req` by key and a log.",
		},
		{
			"stock",
			d.stock,
			"bare_gin",
			goal(0, 0),
			like("list_memory", listPath, "X-RateLimit-Remaining"),
			"a build from well-known parts: a `SELECT` of the key, two calls of ulule/limiter in Redis, the rows by " +
				"sqlx.",
		},
	}
}

//nolint:funlen // a table of cases
func refusals(d *deployments, s *servers.Sample) []row {
	m, r := d.memory, d.redis
	return []row{
		{
			"bare_304",
			d.bare,
			"",
			goal(0, 0),
			fixed("not_modified_memory", "/v1/304?limit=20"),
			"bare Gin: status 304 and nothing else.",
		},
		{
			"not_modified_memory",
			m,
			"bare_304",
			goal(1, 15),
			notModified(s.One),
			"304: the list with `If-None-Match`, without Redis.",
		},
		{
			"bare_429",
			d.bare,
			"",
			goal(0, 0),
			fixed("refused_memory", "/v1/429?limit=20"),
			"bare Gin: the 429's body as fixed bytes.",
		},
		{
			"refused_memory",
			m,
			"bare_429",
			goal(1, 14),
			refused(s.Full),
			"429: the limit per minute is exceeded, without Redis.",
		},
		{
			"refused_redis",
			r,
			"bare_429",
			goal(1, 14),
			refused(s.Full),
			"429: the limit per minute is exceeded, with Redis.",
		},
		{
			"bare_banned",
			d.bare,
			"",
			goal(0, 0),
			fixed("banned_memory", "/v1/banned?limit=20"),
			"bare Gin: the ban's body as fixed bytes.",
		},
		{"banned_memory", m, "bare_banned", goal(0, 0), banned(s.Banned),
			"429: the key is banned because it continued to send requests, without Redis."},
		{
			"bare_401",
			d.bare,
			"",
			goal(0, 0),
			fixed("bad_key", "/v1/401?limit=20"),
			"bare Gin: the 401's body as fixed bytes.",
		},
		{"bad_key", m, "bare_401", goal(1, 14), badKey(s.One), "401: the key's checksum is wrong."},
	}
}

func writes(d *deployments, s *servers.Sample) []row {
	m, r := d.memory, d.redis
	return []row{
		{
			"bare_create",
			d.bareWrites,
			"",
			goal(0, 0),
			like("create", servers.CreatePath),
			"bare Gin: reads the same body, runs one prepared `INSERT` through lib/pq, and writes the same response " +
				"by `c.JSON`.",
		},
		{"create", m, "bare_create", goal(.95, 0), create(s.Writer), "`POST /v1/pets` without Redis."},
		{"create_redis", r, "bare_create", goal(.75, 0), create(s.Writer), "`POST /v1/pets` with Redis."},
		{"create_once", m, "bare_create", goal(0, 0), createOnce(s.Writer),
			"`POST /v1/pets` with an `Idempotency-Key` of its own for each request, without Redis."},
		{
			"bare_patch",
			d.bareWrites,
			"",
			goal(0, 0),
			like("patch", patchPath),
			"bare Gin: the same with one prepared `UPDATE`.",
		},
		{"patch", m, "bare_patch", goal(0, 0), patch(s.Writer),
			"`PATCH /v1/pets/{petId}`: another name, each time of another of 10,000 animals, without Redis."},
		{"patch_redis", r, "bare_patch", goal(0, 0), patch(s.Writer), "the same with Redis."},
		{"bare_order", d.bareWrites, "", goal(0, 0), like("order", servers.OrderPath),
			"bare Gin: the same with one prepared statement that changes the animal and inserts the order."},
		{
			"order",
			m,
			"bare_order",
			goal(0, 0),
			order(s.Writer),
			"`POST /v1/store/orders`: each for another animal, without Redis.",
		},
		{"order_redis", r, "bare_order", goal(0, 0), order(s.Writer), "the same with Redis."},
	}
}

//nolint:funlen // a table of cases
func traffic(d *deployments, s *servers.Sample) []row {
	m, r := d.memory, d.redis
	return []row{
		{
			"bare_mixed_1",
			d.bareWrites,
			"",
			goal(0, 0),
			like("mixed_1", listPath),
			"bare Gin: the list as fixed bytes, and 1 % the `INSERT` of `bare_create`.",
		},
		{
			"mixed_1",
			m,
			"bare_mixed_1",
			goal(0, 0),
			mixed(1, s.Many),
			"300 tenants at random: lists, and 1 % `POST /v1/pets`, without Redis.",
		},
		{"mixed_1_redis", r, "bare_mixed_1", goal(0, 0), mixed(1, s.Many), "the same with Redis."},
		{
			"bare_mixed_5",
			d.bareWrites,
			"",
			goal(0, 0),
			like("mixed_5", listPath),
			"bare Gin: the list as fixed bytes, and 5 % the `INSERT` of `bare_create`.",
		},
		{
			"mixed_5",
			m,
			"bare_mixed_5",
			goal(0, 0),
			mixed(5, s.Many),
			"300 tenants at random: lists, and 5 % `POST /v1/pets`, without Redis.",
		},
		{"mixed_5_redis", r, "bare_mixed_5", goal(0, 0), mixed(5, s.Many), "the same with Redis."},
		{
			"bare_many_clients",
			d.bare,
			"",
			goal(0, 0),
			like("many_clients", listPath),
			"bare Gin: the list as fixed bytes, on as many connections.",
		},
		{
			"many_clients",
			m,
			"bare_many_clients",
			goal(0, 0),
			manyClients(s.ManyKeys),
			"the same as `list_memory` on 10,000 connections in turn, 64 at a time, each with its own key, of 300 " +
				"tenants.",
		},
		{"bare_cold", d.bareWrites, "", goal(0, 0), like("cold", servers.FoundPath+"?limit=20"),
			"bare Gin: one prepared `SELECT` of the key's digest, then the list as fixed bytes; the same connections."},
		{
			"cold",
			m,
			"bare_cold",
			goal(0, 0),
			cold(s.Many[0]),
			"the same as `list_memory`, each request on a connection of its own, with a valid key that the server " +
				"has not seen before, of 300 tenants.",
		},
		{
			"bare_proxied",
			d.bareProxied,
			"",
			goal(0, 0),
			like("list_memory", listPath),
			"bare Gin: the list as fixed bytes, through the same nginx.",
		},
		{"proxied", d.proxied, "bare_proxied", goal(0, 0), list(s.One), "the same as `list_memory`, through nginx."},
	}
}

func goal(ratio, cpu float64) report.Goal { return report.Goal{Ratio: ratio, CPU: cpu} }
