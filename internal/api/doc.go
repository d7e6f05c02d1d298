// Package api answers HTTP.
//
// A request flows one way. serve.go is that way, read from top to bottom: identify (whose key?), admit (ban, then all
// windows of the caller in one step, or the address's bucket), then the route's handler. One struct, the exchange,
// is set up once and carries the caller and the decision. routes.go is the whole route table, errors.go the one
// table of error codes: handlers return errors, and one function renders them.
//
// What comes in is read by what it is: lists by list.go and params.go, bodies by body.go, object.go and fields.go, and every
// POST goes through create in idempotency.go, so that with an Idempotency-Key it takes effect once.
//
// A page of animals comes from memory where nothing has changed since it was read (listmemory.go); changes.go, before the store, tells
// of every change. What all answers have goes with the connection instead of by net/http's map (head.go).
//
// Every answer, of every kind, carries the caller's three X-RateLimit headers, X-Request-Id and Cache-Control, and may be
// read by pages of any origin; those of operations that are not stable carry X-Stability.
//
// Every request leaves one event in the log and one observation in the metrics, under the pattern of its route: never its
// path, its query or its headers, any of which may hold an API key.
//
// Who has no valid key is counted by address. An OPTIONS request is counted by address whatever it carries: a
// browser's preflight carries no credential, and a tenant is never charged for it.
//
// A free route, GET /v1/usage, shows how the windows stand and counts in none.
//
// A request that ends in 5xx is given back to its tenant, unless the client itself broke it off: otherwise breaking off
// would be a way around the limit.
package api
