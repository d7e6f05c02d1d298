// Package plans decides how much a tenant may call.
//
// A plan sets a quota: a number of requests per minute and one per UTC day. The quota binds the tenant, whichever of
// its keys it uses. A Limiter decides over both windows at once, all or nothing: a refused request consumes nothing,
// in neither window, and in no window is more admitted than the limit. Memory counts in this process, Redis for all
// servers that share one.
//
// A Limiter does not fail. While Redis is away each server admits its share of what it last saw remaining, and Redis is
// told when it is back; docs/rate-limiting.md says what that promises and what it does not.
//
// The decision is a value that knows nothing of HTTP; package api turns it into headers and answers.
// All types are safe for concurrent use where their comment does not say otherwise.
package plans
