// Package freshness determines when a cached list of a tenant's catalogue may be served.
//
// A Stamp identifies one state of a catalogue. Every limit decision carries the current one. A list
// that was read after a decision with a stamp may be served after any other decision with the same
// stamp, by any server.
//
// A writer announces its write before the transaction begins (Invalidator) and ends it afterwards.
// While a write is announced, the catalogue has no stamp, and lists are read from Postgres. A
// writer that disappears leaves a write intent, which ends by itself after WriteIntentTTL. The
// deadline of a write is earlier (MaxWrite). If a commit that began before the deadline has not
// ended, Watch makes every server read lists from Postgres.
//
// Memory is for a single process; package limits/distributed has the Invalidator for several
// servers.
package freshness
