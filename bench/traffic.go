package main

import (
	"context"
	"net/http"

	"petstore.example/bench/load"
	"petstore.example/bench/servers"
)

// supply gives a target what n requests use up.
type supply func(ctx context.Context, t *load.Target, n int) error

// trafficCases returns the cases of other writes than new animals, and of traffic that is not one key on 64 connections.
func trafficCases(e *env) []caseSpec {
	m, r := e.memory, e.redis
	return []caseSpec{
		{"patch", m, "bare_patch", goal(0, 0), patch(m.Writer), `"status"`,
			"`PATCH /v1/pets/{petId}`: another name, each time of another of 10,000 animals, without Redis.", nil},
		{"patch_redis", r, "bare_patch", goal(0, 0), patch(r.Writer), `"status"`,
			"the same with Redis.", nil},
		{"order", m, "bare_order", goal(0, 0), order(m.Writer), `"placed"`,
			"`POST /v1/store/orders`: each for another animal, without Redis.", m.supply.Animals},
		{"order_redis", r, "bare_order", goal(0, 0), order(r.Writer), `"placed"`,
			"the same with Redis.", r.supply.Animals},
		{"mixed_1", m, "bare_mixed_1", goal(0, 0), mixed(1, m.Many...), `"status"`,
			"300 tenants at random: lists, and 1 % `POST /v1/pets`, without Redis.", nil},
		{"mixed_1_redis", r, "bare_mixed_1", goal(0, 0), mixed(1, r.Many...), `"status"`,
			"the same with Redis.", nil},
		{"mixed_5", m, "bare_mixed_5", goal(0, 0), mixed(5, m.Many...), `"status"`,
			"300 tenants at random: lists, and 5 % `POST /v1/pets`, without Redis.", nil},
		{"mixed_5_redis", r, "bare_mixed_5", goal(0, 0), mixed(5, r.Many...), `"status"`,
			"the same with Redis.", nil},
		{"many_clients", m, "bare_many_clients", goal(0, 0), manyClients(m.ManyKeys), `"status"`,
			"the same as `list_memory` on 10,000 connections in turn, 64 at a time, each with its own key, of 300 tenants.", nil},
		{"cold", m, "bare_cold", goal(0, 0), cold(m.Many[0]), `"status"`,
			"the same as `list_memory`, each request on a connection of its own, with a valid key that the server has not seen before, of 300 tenants.", m.supply.Keys},
		{"proxied", e.proxied, "bare_proxied", goal(0, 0), list(m.One), `"status"`,
			"the same as `list_memory`, through nginx.", nil},
	}
}

// mixed is a list of one of these tenants at random, or so many creates in a hundred.
func mixed(writes int, tenants ...servers.Tenant) load.Target {
	t := list(tenants...)
	t.Writes, t.WriteBody, t.IgnoreNumbers = writes, []byte(newPet), true
	return t
}

// patch changes one of many animals, so that requests seldom wait for another's lock on a row.
func patch(tenant servers.Tenant) load.Target {
	t := create(tenant)
	t.Method, t.URL, t.RequestBody = http.MethodPatch, "/v1/pets/{id}", []byte(`{"name":"Rex {n}"}`)
	t.IDs = &load.IDs{First: servers.FirstChanged, Count: servers.ChangedAnimals}
	t.Status, t.RequiredHeaders = http.StatusOK, headers("ETag")
	return t
}

// order orders an animal, which must be available.
func order(tenant servers.Tenant) load.Target {
	t := create(tenant)
	t.URL, t.RequestBody = servers.OrderPath, []byte(`{"petId":{id}}`)
	return t
}

func manyClients(keys []string) load.Target {
	t := list(servers.Tenant{})
	t.Header, t.Keys, t.Clients = nil, keys, len(keys)
	return t
}

// cold closes each connection after a request. Its keys are supplied.
func cold(tenant servers.Tenant) load.Target {
	t := list(tenant)
	t.Header = http.Header{"Connection": {"close"}}
	return t
}
