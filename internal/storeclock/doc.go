// Package storeclock has the instants by which limits, keys and bans are decided. They are those of
// the store's clock, which all servers share: a server whose own clock is wrong decides as the
// others do.
//
// A measurement compares the two clocks: the store reads its own between two readings of this
// machine's. From then on an instant is the store's time of the measurement and the monotonic time
// since. So nothing that happens to this machine's wall clock changes an instant, and a wrong wall
// clock is only reported (Ahead).
//
// Invariant: instants are the store's, within the round trip of the last measurement and what the
// monotonic clock has drifted since. They never go back, unless the store's clock is set back by
// more than MaxPause: by less, they stand still until it has caught up.
//
// A Clock is safe for concurrent use. Instant and Now take no lock and allocate nothing. A
// measurement that fails changes nothing: instants continue by the monotonic clock. That of a
// virtual machine stands still while it is suspended, and then instants are late until the next
// measurement.
package storeclock
