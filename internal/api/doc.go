// Package api is the HTTP API for customers.
//
// serve.go handles every request in three steps: identify (find the caller of the key), admit (ban,
// then all windows of the caller in one step, or the bucket of its address), then the handler of
// the route. One struct, the exchange, carries the caller and the decision. routes.go is the route
// table. errors.go is the table of error codes: handlers return errors, and one function renders
// them.
//
// Lists are read by params.go and list.go, bodies by body.go and package jsonbody. Every POST goes
// through create in idempotency.go, so that it takes effect once if it has an Idempotency-Key.
//
// A page of animals comes from package pagecache if nothing has changed since it was read.
// invalidate.go wraps the stores and announces every change. response.go sets the headers of all
// responses.
//
// Every response carries the caller's three X-RateLimit headers, X-Request-Id and Cache-Control,
// and pages of any origin may read it. Responses of operations that are not stable carry
// X-Stability.
//
// Every request makes one log event and one observation in the metrics, under the pattern of its
// route. Of requests that count in no plan's limits, only some are logged if there are many
// (logsample.go), and of those that failed on our side one a second of each kind. Neither the log
// nor the metrics shows the path, query or headers, because any of them may hold an API key.
// Requests that failed show the client's address and a part of its User-Agent (useragent.go).
//
// A caller without a valid key is counted by address. So is every OPTIONS request: a browser's
// preflight carries no credential, and a tenant is never charged for it.
//
// GET /v1/usage shows the state of the windows and counts in none.
//
// A request that ends in 5xx is refunded to its tenant, unless the client canceled it: otherwise
// canceling would be a way around the limit.
package api
