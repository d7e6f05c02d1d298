package fleet

import (
	"context"
	"time"
)

// Silence is longer than Lease by as much as a crash of Postgres can make it forget: renewals that change nothing, and come at
// most RenewLate after another, are not waited for on its disk, which takes up to three times its wal_writer_delay, 0.6 s.
const (
	// Lease is how long a server may act by its term after it sent its last successful renewal.
	Lease = time.Second
	// RenewEvery is the time between renewals where nothing happens.
	RenewEvery = 300 * time.Millisecond
	// RenewLate is the longest time between two renewals of which a crash of the store may make it forget the second.
	RenewLate = 400 * time.Millisecond
	// Silence is after how long a server has surely stopped acting by its term, and is waited for no longer.
	Silence = 2 * time.Second
	// Expiry is after how long a server counts as gone: longer than Postgres lets a transaction of a frozen one stay open.
	Expiry = 5 * time.Second
	// lastDone is after how long a silent server has surely done its last, by the clock of any server: those agree within a second.
	lastDone = Silence + time.Second
	// Kept is how long after its last sign of life a server that ended silently is remembered: what it admitted and
	// told nobody may be of the same day.
	Kept = 25 * time.Hour
)

// Term is a time during which all live servers do the same. The zero Term is before the first.
type Term struct {
	Number int64
	// Redis is the fingerprint of the Redis that decides over limits; "" when Postgres does.
	Redis string
	// Alone is the id of the only live server; "" when there are several, or when Redis decides.
	Alone string
	// Closed is an instant before which servers ended without saying what they had admitted: windows that began
	// earlier may have been used to any extent. The zero time for none.
	Closed time.Time
	// Servers is how many were alive when the term was made.
	Servers int
}

// Server is what is known of one server.
type Server struct {
	ID string
	// Seen is when it was last heard of, by the clock of the store.
	Seen time.Time
	// Redis is the fingerprint of the Redis that it sees; "" for none.
	Redis string
	// Acked is the number of the last term that it is ready for: it does nothing more by any earlier one.
	Acked int64
}

// Beat is what a server says in a renewal; its fields are those of Server.
type Beat struct {
	ServerID string
	Redis    string
	Acked    int64
}

// State is all that the servers share.
type State struct {
	Term Term
	// Active tells whether the term has begun. Until then no server acts.
	Active bool
	// Servers are the live ones, and for a while those that ended silently, in order of their ids.
	Servers []Server
}

// Store is where the servers share a State. Implementations are safe for use by many processes.
type Store interface {
	// Renew makes the state Next by b, at the instant that it is by the store's clock, and returns it. After an error it may
	// or may not have done so.
	Renew(ctx context.Context, b Beat) (State, error)
	// Leave forgets the server. One that is not known is no error.
	Leave(ctx context.Context, serverID string) error
}
