// Package simtest simulates a cluster of servers: the limiter of each of them, the agreement on terms and the rules of the durable counters
// run against each other, on a clock that is not real, through random schedules of load and faults. An oracle checks every promise at every
// decision.
package simtest
