package main

import (
	"context"
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/servers"
)

// request is the request of a case. The URL of its target is a path.
type request struct {
	load.Target
	// contains is a part of the response's body, which the case's first response has.
	contains string
	// supply, if not nil, gives the target what n requests use up.
	supply func(s *servers.Supply, ctx context.Context, t *load.Target, n int) error
	// of is the case whose response this one must get; empty for the response that its own server
	// gives first. withRequest says that the request is that case's too.
	of          string
	withRequest bool
}

const (
	// listPath is what every list case requests.
	listPath  = "/v1/pets?limit=20"
	patchPath = "/v1/pets/{id}"
	// newPet is the request body of every create case.
	newPet = `{"name":"Rex the dog","categoryId":7,"status":"available"}`
)

// limitHeaders are in every response of petstore.
var limitHeaders = []string{
	"X-Request-Id",
	"X-RateLimit-Limit",
	"X-RateLimit-Remaining",
	"X-RateLimit-Reset",
	"RateLimit",
	"RateLimit-Policy",
}

func headers(names ...string) []string { return append(names, limitHeaders...) }

// fixed is a request without headers whose response is that of another case.
func fixed(of, path string) request { return request{Target: load.Target{URL: path}, of: of} }

// like is another case's request to another path, whose response is the same but for the headers,
// of which these are required.
func like(of, path string, required ...string) request {
	return request{Target: load.Target{URL: path, RequiredHeaders: required}, of: of, withRequest: true}
}

func list(tenants ...servers.Tenant) request {
	t := request{contains: `"status"`, Target: load.Target{
		URL: listPath, Status: http.StatusOK, Counted: 1, RequiredHeaders: headers("ETag", "Link", "X-Next-Cursor"),
	}}
	if len(tenants) == 1 {
		t.Header = http.Header{"Authorization": {"Bearer " + tenants[0].Key}}
		return t
	}
	for _, tenant := range tenants {
		t.Keys = append(t.Keys, tenant.Key)
	}
	return t
}

func compressed(tenant servers.Tenant) request {
	t := list(tenant)
	t.Header["Accept-Encoding"] = []string{"gzip"}
	t.RequiredHeaders = append(t.RequiredHeaders, "Content-Encoding")
	return t
}

// traced is a list whose traceparent has it exported.
func traced(tenant servers.Tenant) request {
	t := list(tenant)
	t.Header["Traceparent"] = []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	return t
}

// notModified is a list that has not changed. addCase fills in the ETag.
func notModified(tenant servers.Tenant) request {
	t := list(tenant)
	t.Header[ifNoneMatch] = []string{""}
	t.Status, t.RequiredHeaders, t.contains = http.StatusNotModified, headers("ETag"), ""
	return t
}

const ifNoneMatch = "If-None-Match"

// refused is a tenant with one request per minute: when a new minute begins during a run, one
// request is admitted.
func refused(tenant servers.Tenant) request {
	t := list(tenant)
	t.Status, t.Counted, t.IgnoreNumbers, t.MaxOther, t.RequiredHeaders = http.StatusTooManyRequests, 0, true, 1,
		headers("Retry-After")
	t.contains = `"rate_limit_exceeded"`
	return t
}

func banned(tenant servers.Tenant) request {
	t := refused(tenant)
	t.MaxOther, t.contains = 0, `"key_banned"`
	return t
}

// badKey changes the last letter of the tenant's key.
func badKey(tenant servers.Tenant) request {
	last := "a"
	if tenant.Key[len(tenant.Key)-1] == 'a' {
		last = "b"
	}
	tenant.Key = tenant.Key[:len(tenant.Key)-1] + last
	t := list(tenant)
	t.Status, t.Counted, t.RequiredHeaders, t.contains = http.StatusUnauthorized, 0, headers(
		"WWW-Authenticate",
	), `"invalid_api_key"`
	return t
}

func create(tenant servers.Tenant) request {
	t := list(tenant)
	t.Method, t.URL, t.RequestBody = http.MethodPost, servers.CreatePath, []byte(newPet)
	t.Header["Content-Type"] = []string{"application/json"}
	t.Status, t.IgnoreNumbers, t.RequiredHeaders = http.StatusCreated, true, headers("Location")
	return t
}

// createOnce is create with idempotency keys.
func createOnce(tenant servers.Tenant) request {
	t := create(tenant)
	t.OwnKeys = true
	return t
}

// patch changes one of many animals, so that requests seldom wait for another's lock on a row.
func patch(tenant servers.Tenant) request {
	t := create(tenant)
	t.Method, t.URL, t.RequestBody = http.MethodPatch, patchPath, []byte(`{"name":"Rex {n}"}`)
	t.IDs = &load.IDs{First: servers.FirstChanged, Count: servers.ChangedAnimals}
	t.Status, t.RequiredHeaders = http.StatusOK, headers("ETag")
	return t
}

// order orders an animal, which must be available.
func order(tenant servers.Tenant) request {
	t := create(tenant)
	t.URL, t.RequestBody = servers.OrderPath, []byte(`{"petId":{id}}`)
	t.contains, t.supply = `"placed"`, (*servers.Supply).Animals
	return t
}

// mixed is a list of one of these tenants at random, or so many creates in a hundred.
func mixed(writes int, tenants []servers.Tenant) request {
	t := list(tenants...)
	t.Writes, t.WriteBody, t.IgnoreNumbers = writes, []byte(newPet), true
	return t
}

func manyClients(keys []string) request {
	t := list(servers.Tenant{})
	t.Header, t.Keys, t.Clients = nil, keys, len(keys)
	return t
}

// cold closes each connection after a request. Its keys are supplied.
func cold(tenant servers.Tenant) request {
	t := list(tenant)
	t.Header, t.supply = http.Header{"Connection": {"close"}}, (*servers.Supply).Keys
	return t
}
