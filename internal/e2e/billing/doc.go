// Package billing tests billing as a whole: from the commands that change plans to the billed
// lines.
//
// The tests can't wait for a year or set a server's clock. So their servers run in this process:
// each is the API's handler with the directory of callers, the meter and the store that
// internal/server gives it. petstorectl is called as a function. All follow a clock that the test
// sets; only Postgres is real and has its own. Three things are replaced. The servers share a
// limiter in memory in place of the one in Redis. AllChanged is called after each command in place
// of its notification. A catalogue without animals stands for the real one.
// TestPlanChangesAtItsInstant of internal/e2e shows that servers with real clocks apply a change at
// its instant.
//
// The tests' clock is in 2025, because a month can only be closed after it has ended by the
// database's clock. The tests' schema lets changes begin in the past.
package billing
