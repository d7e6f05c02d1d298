// Package plans decides how much a tenant may call.
//
// A plan sets a quota: a number of requests per minute and one per UTC day. The quota binds the tenant, whichever of
// its keys it uses; a key may have a limit of its own beside it. A Limiter decides over all windows at once, all or nothing: a
// refused request consumes nothing, in no window, and in no window is more admitted than the limit. Memory counts in this
// process, Redis for all servers of a cluster.
//
// A Limiter does not fail. Of the servers of a cluster all decide by Redis or all by grants from Postgres (CounterStore), as they
// agree in terms (package cluster). What is counted belongs to a term: at its end every server reports what it has seen
// used, and only answers that arrive in it count. docs/rate-limiting.md says what that promises in each state, and what not.
//
// A Decision also says at which version of the tenant's catalogue it was made (Versions), so that lists can be answered
// from memory.
//
// The decision is a value that knows nothing of HTTP; package api turns it into headers and answers.
// All types are safe for concurrent use where their comment does not say otherwise.
package plans
