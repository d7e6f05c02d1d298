//go:build race

package simtest

// raced: the race detector makes schedules ten times as slow. make test runs all of them without it, and some with it.
const raced = true
