// Package limitstest has the suite that every limiter must pass (Run), helpers for such tests, and
// durable counters in memory.
package limitstest
