package main

import (
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// spec is one row of the table of cases.
type spec struct {
	name string
	on   *house
	// against is the case that this one is compared with, empty for a baseline.
	against string
	aim     report.Aim
	target  load.Target // its URL is still a path
	// says is what the body must hold.
	says  string
	about string
}

// petstoreCases is the table of what petstore is measured by. etag is that of the list.
func (s *stage) petstoreCases(etag string) []spec {
	m, r := s.memory, s.redis
	return []spec{
		{"list_memory", m, "bare_gin", aim(.80, 16), list(m.One), `"status"`,
			"`GET /v1/pets?limit=20` with a key and a plan's two limits, `petstore serve` without Redis."},
		{"list_memory_256", m, "list_memory", aim(.95, 0), list(m.Many...), `"status"`,
			"the same, 256 tenants with a key and animals of their own taking turns, compared with one tenant."},
		{"list_redis", r, "bare_gin", aim(.60, 24), list(r.One), `"status"`,
			"`GET /v1/pets?limit=20`, limits exact and shared by all servers in Redis."},
		{"list_redis_256", r, "list_redis", aim(.95, 0), list(r.Many...), `"status"`,
			"the same with 256 tenants taking turns, compared with one."},
		{"not_modified_memory", m, "bare_304", aim(.85, 15), unchanged(m.One, etag), "",
			"304: the list with `If-None-Match`, without Redis."},
		{"refused_memory", m, "bare_429", aim(.90, 14), refused(m.Full), `"rate_limit_exceeded"`,
			"429: the minute is used up, without Redis."},
		{"refused_redis", r, "bare_429", aim(.90, 14), refused(r.Full), `"rate_limit_exceeded"`,
			"429: the minute is used up, with Redis."},
		{"banned_memory", m, "bare_banned", aim(0, 0), banned(m.Banned), `"key_banned"`,
			"429: the key is banned because it went on calling, without Redis."},
		{"bad_key", m, "bare_401", aim(.90, 14), badKey(m.One), `"invalid_api_key"`,
			"401: one letter of the key is wrong, and with it its checksum."},
		{"create", m, "bare_create", aim(.80, 0), create(m.Writer), `"status"`,
			"`POST /v1/pets` without Redis."},
		{"create_redis", r, "bare_create", aim(0, 0), create(r.Writer), `"status"`,
			"`POST /v1/pets` with Redis."},
	}
}

func aim(ratio, cpu float64) report.Aim { return report.Aim{Ratio: ratio, CPU: cpu} }

// limitHeaders are on every answer.
var limitHeaders = []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"}

func wants(names ...string) []string { return append(names, limitHeaders...) }

func list(tenants ...servers.Tenant) load.Target {
	t := load.Target{URL: path, Status: http.StatusOK, Costs: 1, Wants: wants("ETag", "Link", "X-Next-Cursor")}
	if len(tenants) == 1 {
		t.Header = http.Header{"Authorization": {"Bearer " + tenants[0].Key}}
		return t
	}
	for _, tenant := range tenants {
		t.Keys = append(t.Keys, tenant.Key)
	}
	return t
}

func unchanged(tenant servers.Tenant, etag string) load.Target {
	t := list(tenant)
	t.Header["If-None-Match"] = []string{etag}
	t.Status, t.Wants = http.StatusNotModified, wants("ETag")
	return t
}

// refused is a tenant of one request a minute: a run that sees a new minute begin has that one let in.
func refused(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Status, t.Costs, t.Loose, t.Spare, t.Wants = http.StatusTooManyRequests, 0, true, 1, wants("Retry-After")
	return t
}

func banned(tenant servers.Tenant) load.Target {
	t := refused(tenant)
	t.Spare = 0
	return t
}

// badKey has another last letter than the tenant's key.
func badKey(tenant servers.Tenant) load.Target {
	last := "a"
	if tenant.Key[len(tenant.Key)-1] == 'a' {
		last = "b"
	}
	tenant.Key = tenant.Key[:len(tenant.Key)-1] + last
	t := list(tenant)
	t.Status, t.Costs, t.Wants = http.StatusUnauthorized, 0, wants("WWW-Authenticate")
	return t
}

// newPet is what every case that creates sends.
const newPet = `{"name":"Rex the dog","categoryId":7,"status":"available"}`

func create(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Method, t.URL, t.Send = http.MethodPost, "/v1/pets", []byte(newPet)
	t.Header["Content-Type"] = []string{"application/json"}
	t.Status, t.Loose, t.Wants = http.StatusCreated, true, wants("Location")
	return t
}
