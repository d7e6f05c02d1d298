// Package storeclock has the instants by which limits, keys and bans are decided. They follow the
// store's clock, which all servers share, so a server whose own clock is wrong decides as the
// others do.
//
// A measurement compares the two clocks: the store reads its own between two readings of this
// machine's. From then on an instant is the store's time at the measurement plus the monotonic time
// since. So a change of this machine's wall clock changes no instant; a wrong wall clock is only
// reported (Ahead).
//
// Invariant: instants are the store's, within the round trip of the last measurement and the
// monotonic clock's drift since. They never go back, unless the store's clock is set back by more
// than MaxPause. If it is set back by less, they stand still until it has caught up.
//
// A Clock is safe for concurrent use. Instant and Now take no lock and allocate nothing. A failed
// measurement changes nothing: instants continue by the monotonic clock. A virtual machine's
// monotonic clock stands still while it is suspended, and then instants are late until the next
// measurement.
package storeclock
