package main

import (
	"context"
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/servers"
)

// row is one case in the table of all cases. The rest of its benchCase follows from it.
type row struct {
	name    string
	on      string // the deployment
	against string // the row that it is compared with; empty for a baseline
	request request
	about   string // empty for a baseline that is not a row of the page
}

// pinnedRates are the rates, in requests per second, at which the pinned rows and pinnedBaseline
// are measured too.
var (
	pinnedRates    = []float64{5_000, 20_000}
	pinned         = []string{"list", "list_redis", "refused", "stock"}
	pinnedBaseline = "bare_gin"
)

// table returns all rows. Each baseline precedes the rows that are compared with it, so that a
// disturbance affects both.
func table(s *servers.Sample) []row {
	return []row{
		{"bare_gin", "bare", "", like("list", listPath),
			"bare Gin: `gin.New()` in release mode, one route, the list as fixed bytes"},
		{"list", "memory", "bare_gin", list(s.One),
			"`GET /v1/pets?limit=20` of one tenant, `petstore serve` without Redis"},
		{"list_256", "memory", "list", list(s.Many[:256]...),
			"`list` of 256 tenants in turn"},
		{"list_uncached", "uncached", "bare_gin", list(s.One),
			"`list` with `PETSTORE_LIST_CACHE_BYTES=0`: every list is read from PostgreSQL"},
		{"list_redis", "redis", "bare_gin", list(s.One),
			"`list` with Redis, in which all servers share the limits"},
		{"list_redis_256", "redis", "list_redis", list(s.Many[:256]...),
			"`list_redis` of 256 tenants in turn"},
		{"nginx_file", "nginx_file", "bare_gin", like("list", listPath),
			"nginx alone: the list as a file, `limit_req` by key, and a log"},
		{"stock", "stock", "bare_gin", like("list", listPath, "X-RateLimit-Remaining"),
			"well-known parts: a `SELECT` of the key, two calls of ulule/limiter in Redis, the rows by sqlx"},

		{"bare_304", "bare", "", like("not_modified", "/v1/304?limit=20"), ""},
		{"not_modified", "memory", "bare_304", notModified(s.One),
			"304: `list` with `If-None-Match`"},
		{"bare_429", "bare", "", like("refused", "/v1/429?limit=20"), ""},
		{"refused", "memory", "bare_429", refused(s.Full),
			"429: `list` of a tenant whose limit per minute is exceeded"},
		{"bare_401", "bare", "", like("bad_key", "/v1/401?limit=20"), ""},
		{"bad_key", "memory", "bare_401", badKey(s.One),
			"401: `list` with a key whose checksum is wrong"},

		{"bare_create_300", "bare_writes", "", like("create_300", servers.CreatePath), ""},
		{"create_300", "memory", "bare_create_300", create(s.Many),
			"`POST /v1/pets` of 300 tenants at random; bare Gin runs one `INSERT`"},
		{"create_300_redis", "redis", "bare_create_300", create(s.Many),
			"`create_300` with Redis"},
		{"create_once_300", "memory", "bare_create_300", createOnce(s.Many),
			"`create_300`, each with an `Idempotency-Key` of its own"},
		{"bare_patch_300", "bare_writes", "", like("patch_300", patchPath), ""},
		{"patch_300", "memory", "bare_patch_300", patch(s.Many),
			"`PATCH /v1/pets/{petId}` of 300 tenants at random: another name; bare Gin runs one `UPDATE`"},
		{"bare_order_300", "bare_writes", "", like("order_300", servers.OrderPath), ""},
		{"order_300", "memory", "bare_order_300", order(s.Many),
			"`POST /v1/store/orders` of 300 tenants at random; bare Gin runs one `UPDATE` with an `INSERT`"},

		{"bare_mixed_5", "bare_writes", "", like("mixed_5", listPath), ""},
		{"mixed_5", "memory", "bare_mixed_5", mixed(5, s.Many),
			"300 tenants at random: `list`, and 5 % `POST /v1/pets`"},
		{"mixed_5_redis", "redis", "bare_mixed_5", mixed(5, s.Many),
			"`mixed_5` with Redis"},
		{"bare_cold", "bare_writes", "", like("cold", servers.FoundPath+"?limit=20"), ""},
		{"cold", "memory", "bare_cold", cold(s.Many),
			"`list`, each on a connection of its own with a key that is new to the server; bare Gin runs one `SELECT`"},
		{"bare_proxied", "bare_proxied", "", like("list", listPath), ""},
		{"proxied", "proxied", "bare_proxied", list(s.One),
			"`list` through nginx, as is bare Gin"},
		{"proxied_net_http", "proxied_net_http", "bare_proxied", list(s.One),
			"`proxied` with `PETSTORE_HTTP_FAST_PATH=off`"},
	}
}

// request is the request of a case. The URL of its target is a path.
type request struct {
	load.Target
	// supply, if not nil, adds to the target what n requests use up.
	supply func(s *servers.Supply, ctx context.Context, t *load.Target, n int) error
	// of is the name of the case that has this one's request, but for the path, and its right
	// response. If it is empty, the server's own first response is right.
	of string
}

const (
	listPath  = "/v1/pets?limit=20"
	patchPath = "/v1/pets/{id}"
	// newPet is the request body of every create.
	newPet      = `{"name":"Rex the dog","categoryId":7,"status":"available"}`
	ifNoneMatch = "If-None-Match"
)

// headers returns the names, and the names of the headers that every response of petstore has.
func headers(names ...string) []string {
	return append(names, "X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit",
		"RateLimit-Policy")
}

// like is another case's request with another path. The response may differ in the headers only,
// and must have the required ones.
func like(of, path string, required ...string) request {
	return request{Target: load.Target{URL: path, RequiredHeaders: required}, of: of}
}

// list lists the animals of one tenant, or of several in turn.
func list(tenants ...servers.Tenant) request {
	t := request{Target: load.Target{
		Method: http.MethodGet, URL: listPath, Header: http.Header{}, Status: http.StatusOK,
		RequiredHeaders: headers("ETag", "Link", "X-Next-Cursor"),
	}}
	if len(tenants) == 1 {
		t.Header.Set("Authorization", "Bearer "+tenants[0].Key)
		return t
	}
	for _, tenant := range tenants {
		t.Keys = append(t.Keys, tenant.Key)
	}
	return t
}

// notModified lists unchanged animals. complete sets the ETag.
func notModified(tenant servers.Tenant) request {
	t := list(tenant)
	t.Header.Set(ifNoneMatch, "")
	t.Status, t.RequiredHeaders = http.StatusNotModified, headers("ETag")
	return t
}

// refused sends requests of a tenant with one request per minute. When a new minute begins during a
// run, one request is admitted.
func refused(tenant servers.Tenant) request {
	t := list(tenant)
	t.Status, t.RequiredHeaders = http.StatusTooManyRequests, headers("Retry-After")
	t.IgnoreNumbers, t.MaxOther = true, 1
	return t
}

// badKey changes the last letter of the tenant's key.
func badKey(tenant servers.Tenant) request {
	start, last := tenant.Key[:len(tenant.Key)-1], "a"
	if tenant.Key == start+last {
		last = "b"
	}
	t := list(servers.Tenant{Key: start + last})
	t.Status, t.RequiredHeaders = http.StatusUnauthorized, headers("WWW-Authenticate")
	return t
}

// create creates an animal of one of the tenants at random.
func create(tenants []servers.Tenant) request {
	t := list(tenants...)
	t.Method, t.URL, t.RequestBody, t.Random = http.MethodPost, servers.CreatePath, []byte(newPet), true
	t.Header.Set("Content-Type", "application/json")
	t.Status, t.RequiredHeaders, t.IgnoreNumbers = http.StatusCreated, headers("Location"), true
	return t
}

func createOnce(tenants []servers.Tenant) request {
	t := create(tenants)
	t.CustomerKeys = true
	return t
}

// patch changes a random one of many animals, so that requests seldom wait for a row lock.
func patch(tenants []servers.Tenant) request {
	t := create(tenants)
	t.Method, t.URL, t.RequestBody = http.MethodPatch, patchPath, []byte(`{"name":"Rex {n}"}`)
	t.IDs = &load.IDs{First: servers.FirstChanged, Count: servers.ChangedAnimals}
	t.Status, t.RequiredHeaders = http.StatusOK, headers("ETag")
	return t
}

// order orders an animal, which must be available.
func order(tenants []servers.Tenant) request {
	t := create(tenants)
	t.URL, t.RequestBody = servers.OrderPath, []byte(`{"petId":{id}}`)
	t.supply = (*servers.Supply).Animals
	return t
}

// mixed lists the animals of one of the tenants at random, but creates an animal in as many of a
// hundred requests as writes says.
func mixed(writes int, tenants []servers.Tenant) request {
	t := list(tenants...)
	t.Random, t.Writes, t.WriteBody, t.IgnoreNumbers = true, writes, []byte(newPet), true
	return t
}

// cold closes the connection after each request. Its keys, of the tenants, are from the supply.
func cold(tenants []servers.Tenant) request {
	t := list(tenants...)
	t.Header.Set("Connection", "close")
	t.supply = (*servers.Supply).Keys
	return t
}
