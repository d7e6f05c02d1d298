// Package api is the HTTP API for customers.
//
// serve.go handles every request in two steps. First package gate finds the caller of the key and
// admits the request: it checks the ban, then all windows of the caller at once, or else the bucket
// of the address. Then the route's handler responds. One struct, the exchange, carries the caller
// and the decision. routes.go is the route table. Package problem is the table of error codes:
// handlers return errors, and one function renders them.
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
// route. Of many requests that count in no plan's limits, only some are logged (logsample.go). Of
// requests that failed on our side, one a second of each kind is logged. Neither the log nor the
// metrics show the path, query or headers, because any of them may hold an API key. The event of a
// failed request has the client's address and a part of its User-Agent (useragent.go).
//
// A request without a valid key is counted by address. OPTIONS is neither counted nor refused: a
// browser's preflight carries no credential.
//
// GET /v1/usage shows the state of the windows. It counts in none, unless it asks for a report.
//
// A request that ends in 5xx is refunded to its tenant, unless the client canceled it: otherwise a
// client could avoid the limit by canceling.
package api
