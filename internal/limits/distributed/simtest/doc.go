// Package simtest simulates a cluster of servers. The limiters, the agreement on terms and the
// durable counters run on a simulated clock, through random schedules of load and faults. An oracle
// checks every guarantee at every decision.
package simtest
