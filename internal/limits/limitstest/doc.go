// Package limitstest has the suite that every limiter must pass (Run), what its tests are made of, and doubles for tests and benchmarks:
// durable counters in memory, and a member of a cluster in which Redis always decides.
package limitstest
