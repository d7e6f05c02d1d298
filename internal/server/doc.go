// Package server runs petstore's server: it opens in order what the API needs, joins the cluster,
// listens, and stops in reverse order. Check tries the same and changes nothing.
//
// Run starts each goroutine with a function that ends it and waits. If something is missing at the
// start, the server says what to do and does not start; it only waits for a running migration.
// Later it goes on without Redis, without the change feed and with a wrong clock, and /readyz says
// so. Without Postgres, or without a term to decide limits in, it refuses requests.
//
// A health, its metrics and the pools are safe for concurrent use; nothing else is shared.
package server
