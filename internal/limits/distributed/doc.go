// Package distributed has the limiter that several servers share.
//
// Redis decides while more than half of the live servers reach the same one; otherwise Postgres
// does. The servers agree on that in numbered terms (package cluster). The Limiter looks up the
// active term and passes each request to the mode of that term:
//
//	limiter.go ──▶ inredis.go          Redis decides: one script and one round trip for a batch (batch.go)
//	    └────────▶ ingrants.go         Postgres decides: in the process, over grants
//	reach.go                           whether this server reaches Redis
//	begin.go                           where a tenant begins in a term
//	denycache.go, seen.go, reported.go what this server knows without asking
//	writes.go                          announces writes to catalogues, so that lists may be cached
//
// Counts belong to a term, and only replies that arrive within it count. A server records all that
// it admitted before it acknowledges the next term, and that term begins at the records.
// ../README.md and docs/rate-limiting.md say what that promises in each state. simtest checks it.
package distributed
