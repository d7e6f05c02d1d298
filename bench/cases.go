package main

import (
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// caseSpec is one row of the table of cases.
type caseSpec struct {
	name string
	on   *deployment
	// against is the case that this one is compared with.
	against string
	goal    report.Goal
	target  load.Target // its URL is a path
	// contains is a part of the response's body.
	contains string
	about    string
	supply   supply // may be nil
}

// petstoreCases returns what petstore is measured by. etag is the list's.
func petstoreCases(e *env, etag string) []caseSpec {
	m, r := e.memory, e.redis
	return []caseSpec{
		{"list_memory", m, "bare_gin", goal(1, 16), list(m.One), `"status"`,
			"`GET /v1/pets?limit=20` with a key and a plan's two limits, `petstore serve` without Redis.", nil},
		{"list_memory_net_http", e.memoryNetHTTP, "bare_gin", goal(.75, 0), list(e.memoryNetHTTP.One), `"status"`,
			"the same with `PETSTORE_HTTP_FAST_PATH=off`.", nil},
		{"list_memory_traces", e.memoryTraces, "list_memory", goal(.90, 0), list(e.memoryTraces.One), `"status"`,
			"the same as `list_memory`, with one trace in a hundred exported ([tracing.md](tracing.md)).", nil},
		{"list_memory_traces_all", e.memoryTraces, "list_memory", goal(.75, 0), traced(e.memoryTraces.One), `"status"`,
			"the same as `list_memory`, with every request exported, or dropped when the queue is full.", nil},
		{"list_gzip", m, "list_memory", goal(.95, 0), compressed(m.One), `"status"`,
			"the same as `list_memory`, with `Accept-Encoding: gzip`: the page keeps its compressed form.", nil},
		{"list_memory_256", m, "list_memory", goal(.95, 0), list(m.Many[:256]...), `"status"`,
			"the same as `list_memory`, with 256 tenants in turn, each with its own key and animals.", nil},
		{"list_redis", r, "bare_gin", goal(1, 24), list(r.One), `"status"`,
			"`GET /v1/pets?limit=20`, with exact limits that all servers share in Redis.", nil},
		{"list_redis_net_http", e.redisNetHTTP, "bare_gin", goal(.50, 0), list(e.redisNetHTTP.One), `"status"`,
			"the same with `PETSTORE_HTTP_FAST_PATH=off`.", nil},
		{"list_redis_256", r, "list_redis", goal(.95, 0), list(r.Many[:256]...), `"status"`,
			"the same as `list_redis`, with 256 tenants in turn.", nil},
		{"not_modified_memory", m, "bare_304", goal(1, 15), notModified(m.One, etag), "",
			"304: the list with `If-None-Match`, without Redis.", nil},
		{"refused_memory", m, "bare_429", goal(1, 14), refused(m.Full), `"rate_limit_exceeded"`,
			"429: the limit per minute is exceeded, without Redis.", nil},
		{"refused_redis", r, "bare_429", goal(1, 14), refused(r.Full), `"rate_limit_exceeded"`,
			"429: the limit per minute is exceeded, with Redis.", nil},
		{"banned_memory", m, "bare_banned", goal(0, 0), banned(m.Banned), `"key_banned"`,
			"429: the key is banned because it continued to send requests, without Redis.", nil},
		{"bad_key", m, "bare_401", goal(1, 14), badKey(m.One), `"invalid_api_key"`,
			"401: the key's checksum is wrong.", nil},
		{"create", m, "bare_create", goal(.95, 0), create(m.Writer), `"status"`,
			"`POST /v1/pets` without Redis.", nil},
		{"create_redis", r, "bare_create", goal(.75, 0), create(r.Writer), `"status"`,
			"`POST /v1/pets` with Redis.", nil},
		{"create_once", m, "bare_create", goal(0, 0), createOnce(m.Writer), `"status"`,
			"`POST /v1/pets` with an `Idempotency-Key` of its own for each request, without Redis.", nil},
		{"create_once_redis", r, "bare_create", goal(0, 0), createOnce(r.Writer), `"status"`,
			"the same with Redis.", nil},
	}
}

func goal(ratio, cpu float64) report.Goal { return report.Goal{Ratio: ratio, CPU: cpu} }

// limitHeaders are in every response.
var limitHeaders = []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"}

func headers(names ...string) []string { return append(names, limitHeaders...) }

func list(tenants ...servers.Tenant) load.Target {
	t := load.Target{URL: listPath, Status: http.StatusOK, Counted: 1, RequiredHeaders: headers("ETag", "Link", "X-Next-Cursor")}
	if len(tenants) == 1 {
		t.Header = http.Header{"Authorization": {"Bearer " + tenants[0].Key}}
		return t
	}
	for _, tenant := range tenants {
		t.Keys = append(t.Keys, tenant.Key)
	}
	return t
}

func compressed(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Header["Accept-Encoding"] = []string{"gzip"}
	t.RequiredHeaders = append(t.RequiredHeaders, "Content-Encoding")
	return t
}

// traced is a list whose traceparent has it exported.
func traced(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Header["Traceparent"] = []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	return t
}

func notModified(tenant servers.Tenant, etag string) load.Target {
	t := list(tenant)
	t.Header["If-None-Match"] = []string{etag}
	t.Status, t.RequiredHeaders = http.StatusNotModified, headers("ETag")
	return t
}

// refused is a tenant with one request per minute: when a new minute begins during a run, one request is admitted.
func refused(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Status, t.Counted, t.IgnoreNumbers, t.MaxOther, t.RequiredHeaders = http.StatusTooManyRequests, 0, true, 1, headers("Retry-After")
	return t
}

func banned(tenant servers.Tenant) load.Target {
	t := refused(tenant)
	t.MaxOther = 0
	return t
}

// badKey changes the last letter of the tenant's key.
func badKey(tenant servers.Tenant) load.Target {
	last := "a"
	if tenant.Key[len(tenant.Key)-1] == 'a' {
		last = "b"
	}
	tenant.Key = tenant.Key[:len(tenant.Key)-1] + last
	t := list(tenant)
	t.Status, t.Counted, t.RequiredHeaders = http.StatusUnauthorized, 0, headers("WWW-Authenticate")
	return t
}

// newPet is the request body of every create case.
const newPet = `{"name":"Rex the dog","categoryId":7,"status":"available"}`

func create(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Method, t.URL, t.RequestBody = http.MethodPost, "/v1/pets", []byte(newPet)
	t.Header["Content-Type"] = []string{"application/json"}
	t.Status, t.IgnoreNumbers, t.RequiredHeaders = http.StatusCreated, true, headers("Location")
	return t
}

// createOnce is create with idempotency keys.
func createOnce(tenant servers.Tenant) load.Target {
	t := create(tenant)
	t.OwnKeys = true
	return t
}
