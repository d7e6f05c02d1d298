// Package cluster lets all live servers agree on where limits are counted, in Redis or in Postgres,
// and on whether one server is the only live one. The README of internal/limits defines the words
// and shows a change of terms and a worked fault.
//
// The servers agree on a Term. It is kept in one place that all of them reach (Postgres, see
// internal/store/counters), and the pure function Next changes it under a lock. Each server renews
// its membership three times a second, in a large fleet once a second. A server may act in a term
// only for the length of its lease after it sent its last successful renewal, by its own monotonic
// clock.
//
// Invariant: no two terms are active at the same time on any servers. A new term becomes active
// when every live server has either acknowledged it or been fenced. A server acknowledges a term
// after it stopped acting in the previous one and recorded what it did. A server is fenced when it
// has sent no heartbeat for so long that its lease has certainly expired (FenceTimeout). A process
// that was frozen, for however long, finds its lease expired when it resumes.
//
// Two assumptions about clocks: each process's monotonic clock is right, and the store's clock does
// not jump forward by seconds. Setting it back is harmless.
//
// A Member is safe for concurrent use; Term and Valid take no lock and allocate nothing. When the
// store is unreachable the lease expires, and no term is in force until a renewal succeeds.
package cluster
