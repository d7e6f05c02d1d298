// Package cluster is the agreement between all live servers on which of Redis and Postgres decides over limits, and on
// whether one of them is alone.
//
// What they agree on is a Term. It lies in one place that all reach (internal/store keeps it in Postgres) and is changed by
// one pure function, Next, under a lock. Each server renews its part in it three times a second. It may act by a term
// only for a Lease after it sent a renewal that succeeded, by its own monotonic clock.
//
// The invariant: no two terms are in force at the same time anywhere. A new one begins when every live server has
// acknowledged it, which a server does after it stopped acting by the one before and reported what it did; or
// has been silent for so long that its lease has run out. A process that is frozen, however long, finds its lease
// ended when it goes on.
//
// Two clocks are trusted: each process's monotonic one, and the store's not to be set forward by seconds at once. Set back
// it does no harm.
//
// A Member is safe for concurrent use; Term and Holds take no lock and allocate nothing. When the store can't be reached
// the lease runs out, and no term is in force until a renewal succeeds.
package cluster
