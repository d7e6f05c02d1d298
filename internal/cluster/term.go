package cluster

import (
	"cmp"
	"context"
	"time"
)

const (
	// Lease is how long a server may act by its term after it sent its last successful renewal.
	Lease = time.Second
	// RenewEvery is the interval between renewals while a term is in force.
	RenewEvery = 300 * time.Millisecond
	// RenewLate is the longest interval after which the store may lose a renewal in a crash: one that only moves Seen and
	// comes sooner is not waited for on disk. Postgres writes it within three times wal_writer_delay, 0.6 s.
	RenewLate = 400 * time.Millisecond
	// FenceTimeout is how long after its last heartbeat a server has surely stopped acting by its term. The others then no
	// longer wait for it. It is Lease, RenewLate and the 0.6 s of RenewLate's comment together.
	FenceTimeout = 2 * time.Second
	// FenceSlack bounds how far the wall clocks of the servers and of the store differ. By any of these clocks a fenced
	// server admitted its last request before Seen + FenceTimeout + FenceSlack.
	FenceSlack = time.Second
	// MemberTTL is how long after its last heartbeat a server counts as live. It is longer than Postgres keeps the open
	// transaction of a frozen server.
	MemberTTL = 5 * time.Second
	// TombstoneTTL is how long a server that did not leave is remembered after its last heartbeat. It covers a day, because
	// the requests that it admitted and did not report may count in the same day.
	TombstoneTTL = 25 * time.Hour
)

// Term is a period in which all live servers act alike. The zero Term precedes the first.
type Term struct {
	Number int64
	// Redis is the fingerprint of the Redis that decides over limits; "" when Postgres decides.
	Redis string
	// Sole is the id of the only live server; "" when there are several, or when Redis decides.
	Sole string
	// UncleanUntil is the time by which all servers that ended without a report have surely stopped. Windows that began
	// earlier may have been used to any extent. Zero if there was no such server.
	UncleanUntil time.Time
	// Servers is how many servers were live when the term was made.
	Servers int
}

// Server is what the store knows of one server.
type Server struct {
	ID string
	// Seen is the time of its last heartbeat, by the store's clock.
	Seen time.Time
	// Redis is the fingerprint of the Redis that it reaches; "" for none.
	Redis string
	// Acked is the number of the newest term that it acknowledged: it no longer acts by any earlier one.
	Acked int64
}

func (s Server) live(now time.Time) bool { return now.Sub(s.Seen) < MemberTTL }

// blocks reports whether the server may still act by a term before that number.
func (s Server) blocks(number int64, now time.Time) bool {
	return s.Acked < number && now.Sub(s.Seen) < FenceTimeout
}

// ByID orders servers as in State.
func ByID(a, b Server) int { return cmp.Compare(a.ID, b.ID) }

// Heartbeat is what a server sends in a renewal. Its first fields are those of Server.
type Heartbeat struct {
	ServerID string
	Redis    string
	Acked    int64
	// Highest is the highest number of a term that the server has seen, in the store or in Redis.
	Highest int64
}

// State is everything that the servers share.
type State struct {
	Term Term
	// Active reports whether the term has begun. Until then no server acts.
	Active bool
	// Servers are the live ones and those that did not leave within TombstoneTTL, ordered by ID.
	Servers []Server
	// Now is the store's time of the renewal that returned the state.
	Now time.Time
}

// Store keeps the State that the servers share. Implementations are safe for use by many processes.
type Store interface {
	// Renew replaces the state by Next of it, the heartbeat and the store's current time, and returns it. After an error
	// the state may or may not have been replaced.
	Renew(ctx context.Context, hb Heartbeat) (State, error)
	// Leave removes the server. It is no error if the server is unknown.
	Leave(ctx context.Context, serverID string) error
}
