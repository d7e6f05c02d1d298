// Package usage counts requests for billing, by tenant, key, plan and UTC hour.
//
// A Meter counts in memory and writes the counts to a Store twice a second, so the record is at
// most a second behind. A batch has the server's name and a number that only grows. After a failed
// write the same batch is sent again under the same number. A Store that remembers each server's
// last number adds every batch exactly once, even if only the reply was lost.
//
// While the store is down, counts stay in memory: one for each active key, plan and hour. A process
// that is killed loses what it has not written, at most the last second.
//
// Months returns the recorded usage of a tenant's month; Predict returns when its daily quota runs
// out. Overages says which requests of a month are above the included number. FailedRequests keeps
// some failed requests for support.
package usage
