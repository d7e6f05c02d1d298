//go:build race

package simtest

// raced: the race detector makes schedules ten times as slow. make test runs all of them without
// it, and some with it. It looks for planted faults without it.
const raced = true
