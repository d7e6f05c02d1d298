// Package distributed has the limiter that several servers share.
//
// Redis decides while every live server sees the same one; otherwise Postgres does. The servers agree on that in numbered terms
// (package cluster). The Limiter looks up the active term and passes each request to the mode of that term:
//
//	limiter.go ──▶ termwait.go         which term is in force, and how long to wait for one
//	    ├──▶ redismode.go              Redis decides: one script and one round trip for a batch (batch.go)
//	    └──▶ grantmode.go              Postgres decides: in the process, over grants (grants.go)
//	denycache.go, localview.go         what this server knows without asking
//	reports.go                         what it has seen used, reported in the middle of a term
//	redishealth.go                     whether Redis is lost, and when it is there again
//	ownway.go, relay.go                another server makes the calls of one that alone can't reach Redis
//	invalidator.go                     announces writes to catalogues, so that lists may be cached
//
// What is counted belongs to a term: at its end every server reports what it has seen used, and only replies that arrive within the
// term count. ../README.md and docs/rate-limiting.md say what that promises in each state. simtest checks it.
package distributed
