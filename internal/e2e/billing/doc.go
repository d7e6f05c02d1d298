// Package billing tests billing as a whole: from the commands that change plans to the lines that
// are billed.
//
// A year can't be waited for, and the clock of a server can't be set. So the servers of these tests
// run in this process: each is the API's handler with the directory of callers, the meter and the
// store that cmd/petstore gives it, and petstorectl is called as a function. All of them go by a
// clock that the test sets; only Postgres, which is real, has its own. Three things stand in for
// others: the limiter in memory, which the servers share, for one in Redis; a call of AllChanged
// after each command for the notice of it; and a catalogue without animals.
// TestPlanChangesAtItsInstant of internal/e2e shows that servers with real clocks act by a change
// at its instant.
//
// The clock of the tests is in 2025: a month can be closed when it has ended by the clock of the
// database. The schema of the tests lets changes begin in the past.
package billing
