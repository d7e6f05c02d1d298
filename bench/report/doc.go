// Package report turns measured runs into medians and writes them down: a table for the terminal, results.json for programs and
// docs/benchmarks.md for people. It writes only what was measured in this run.
package report
