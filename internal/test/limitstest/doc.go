// Package limitstest has the suite that every limiter must pass (Run), helpers for such tests, and doubles for tests and benchmarks:
// durable counters in memory, and a member of a cluster in which Redis always decides.
package limitstest
