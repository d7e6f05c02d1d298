// Package usage counts what billing reads: requests by tenant, key, plan and UTC hour.
//
// A Meter counts in memory, where a request costs some tens of nanoseconds, and writes what it counted to a Store twice
// a second: what is recorded is at most a second behind. A batch carries the server's name and a number that only
// grows. When a write fails, the same batch is sent again under the same number, so a Store that remembers each
// server's last number adds every batch exactly once, even when only the reply was lost.
//
// While the store is away, counts stay in memory: one row per active key, plan and hour. A process that is killed
// loses what it had not written, at most the last second.
//
// A tenant is told what was recorded this month by Months, and by Predict when its day runs out.
package usage
