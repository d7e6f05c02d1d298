// Package report computes medians from measured runs and writes them as a table for the terminal,
// as results.json, and as docs/benchmarks.md with its charts.
package report
