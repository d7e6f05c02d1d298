package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"
)

const (
	// RenewEvery is the interval between renewals in a fleet of up to 30 servers. In a larger fleet
	// it is 10 ms for each server, so that the store has the same load.
	RenewEvery = 300 * time.Millisecond
	// MaxRenewEvery is the longest interval between renewals. A fleet of a hundred servers or more
	// has it.
	MaxRenewEvery = time.Second
	renewEach     = 10 * time.Millisecond
	// Lease is how long a server that renews every RenewEvery may act by its term after it sent its
	// last successful renewal: two and a half intervals and a quarter of a second.
	Lease = RenewEvery*5/2 + 250*time.Millisecond
	// MaxLease is the lease of a server that renews every MaxRenewEvery.
	MaxLease = MaxRenewEvery*5/2 + 250*time.Millisecond
	// CrashLoss is the age of the oldest renewal that the store may lose in a crash: Postgres
	// writes them within three times wal_writer_delay.
	CrashLoss = 600 * time.Millisecond
	// FenceTimeout is how long after its last heartbeat a server with that Lease has surely stopped
	// acting by its term. The others then no longer wait for it. See fenceTimeout.
	FenceTimeout = Lease + Lease*2/5 + CrashLoss
	// MaxFenceTimeout is the FenceTimeout of a server with MaxLease.
	MaxFenceTimeout = MaxLease + MaxLease*2/5 + CrashLoss
	// MemberTTL is how long after its last heartbeat a server counts as live. It is longer than
	// Postgres keeps the open transaction of a frozen server, and longer than MaxFenceTimeout.
	MemberTTL = 5 * time.Second
	// ListedFor is how long a server that did not leave is listed after its last heartbeat.
	ListedFor = 10 * time.Minute
	// CutOffAfter is how long a server may reach no Redis before it counts as CutOff.
	CutOffAfter = 5 * time.Second
	// SetBackWait is how long no server acts after a set-back was noticed: longer than any lease
	// that the store may have lost.
	SetBackWait = MaxLease + 250*time.Millisecond
)

const (
	// maxByClock bounds the numbers that come from the store's clock, which reach it in 2060. So a
	// wrong clock cannot use up the 31 bits that freshness and Redis have for a number.
	maxByClock = 1 << 30
	// maxHighest bounds the term number that a server believes. Numbers above maxByClock only count
	// up.
	maxHighest = maxByClock + 1<<20
	// setBackJump is how many numbers are skipped after a set-back. Terms may be lost that the
	// sender never saw, and the numbers of terms made within one second run ahead of the clock.
	setBackJump = 60
)

// epoch is the time at which term numbers are 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// CutOff is sent in place of the fingerprint by a server that has reached no Redis for CutOffAfter.
const CutOff = "-"

// renewEvery returns the interval between renewals in a fleet of so many servers. leaseOf returns
// the lease of a server that renews at an interval.
func renewEvery(servers int) time.Duration {
	return min(max(RenewEvery, time.Duration(servers)*renewEach), MaxRenewEvery)
}

func leaseOf(every time.Duration) time.Duration { return every*5/2 + 250*time.Millisecond }

// RenewLate is the longest interval between two renewals after which the store may lose the second
// in a crash. A renewal does not wait for the disk if it comes sooner, asks for no longer lease,
// and has nothing new about a term. RenewLate is a little more than the renewal interval of that
// lease.
func RenewLate(lease time.Duration) time.Duration { return lease * 2 / 5 }

// fenceTimeout is the time after a heartbeat with the lease at which its server has surely stopped
// acting, if the store shows no later heartbeat.
//
// Let d be the time at which the store saw the heartbeat; it was sent at d or before. If it was the
// last, its server stops by d + lease. Otherwise a crash of the store at t lost the later ones. The
// first of them came by d + RenewLate(lease), and was lost because it came after t - CrashLoss.
// None of them took a longer lease: such a renewal, with those before it, is on disk before it is
// answered. The last of them was sent before t, so its server stops by t + lease < d +
// RenewLate(lease) + CrashLoss + lease.
func fenceTimeout(lease time.Duration) time.Duration {
	lease = max(lease, Lease)
	return lease + RenewLate(lease) + CrashLoss
}

// Term is a period in which all live servers act alike. The zero Term precedes the first.
type Term struct {
	// Number grows with each term. It never repeats, not even in a restored database, because it is
	// at least the store's clock.
	Number int64
	// First says that no term preceded this one.
	First bool
	// Redis is the fingerprint of the Redis that decides about limits; "" if Postgres decides.
	Redis string
	// Sole is the id of the only live server; "" if there are several, or if Redis decides.
	Sole string
	// SilentUntil is the time by which all servers that ended silently (killed, frozen or cut off)
	// had surely stopped; zero if there was none. In windows that began earlier, what they may have
	// admitted counts as used.
	SilentUntil time.Time
	// Servers is the number of live servers when the term was made.
	Servers int
	// NoMonths says that a server of the last release, which counts no months, was live when the term
	// was made or later. Nobody enforces months then: the next term begins at what is recorded.
	NoMonths bool
	// SetBack is the number of the first term after the store was last set back; 0 if it never was.
	SetBack int64
}

// Server is what the store knows of one server.
type Server struct {
	ID string
	// Seen is the time of its last heartbeat, by the store's clock.
	Seen time.Time
	// Redis is the fingerprint of the Redis that it reaches; "" for none, or CutOff. It begins with
	// a layout and a comma.
	Redis string
	// Acked is the number of the newest term that it acknowledged: it no longer acts by any earlier
	// one.
	Acked int64
	// Lease is how long it may act after its last heartbeat; 0 means the constant Lease.
	Lease time.Duration
	// NoMonths says that it is of the last release.
	NoMonths bool
}

func (s Server) live(now time.Time) bool { return now.Sub(s.Seen) < MemberTTL }

// Fenced reports whether the server has surely stopped acting: every lease that it may have is
// over.
func (s Server) Fenced(now time.Time) bool { return now.Sub(s.Seen) >= fenceTimeout(s.Lease) }

// blocks reports whether the server may still act by a term before the number.
func (s Server) blocks(number int64, now time.Time) bool { return s.Acked < number && !s.Fenced(now) }

// ByID orders servers as State.Servers are ordered.
func ByID(a, b Server) int { return cmp.Compare(a.ID, b.ID) }

// Heartbeat is what a server sends in a renewal. Its first fields mean the same as Server's.
type Heartbeat struct {
	ServerID string
	Redis    string
	Acked    int64
	Lease    time.Duration
	// Sequence counts the server's heartbeats. A heartbeat that arrives after a later one has no
	// effect.
	Sequence int64
	// Highest is the highest term number that the server has seen, in the store or in Redis.
	Highest int64
	// Database names the database as it was at its last successful renewal; "" if there was none.
	Database string
	// Forgot is a term whose counters Redis has lost, 0 for none. That term must end.
	Forgot int64
}

// State is everything that the servers share.
type State struct {
	Term Term
	// Active reports whether the term has begun. Until then no server acts.
	Active bool
	// NotBefore is the earliest time at which the term may begin, zero for at once.
	NotBefore time.Time
	// Servers are the live servers, and those that ended without leaving within ListedFor, ordered
	// by ID.
	Servers []Server
	// Database is the database's present name. It changes with a promotion, or with a restore that
	// makes the tables again. Origin is the name when the term was made; "" if unknown.
	Database, Origin string
	// Now is the store's time of the renewal that returned the state.
	Now time.Time
	// Busy says that the term is due to change, and that another server was changing it. Renew
	// again soon.
	Busy bool
}

// Server returns the server with the id.
func (s State) Server(id string) (Server, bool) {
	i, ok := slices.BinarySearchFunc(s.Servers, Server{ID: id}, ByID)
	if !ok {
		return Server{}, false
	}
	return s.Servers[i], true
}

// With returns the state with the server in it.
func (s State) With(e Server) State {
	i, ok := slices.BinarySearchFunc(s.Servers, e, ByID)
	s.Servers = slices.Clone(s.Servers)
	if ok {
		s.Servers[i] = e
	} else {
		s.Servers = slices.Insert(s.Servers, i, e)
	}
	return s
}

// Without returns the state without the server.
func (s State) Without(id string) State {
	s.Servers = slices.DeleteFunc(slices.Clone(s.Servers), func(e Server) bool { return e.ID == id })
	return s
}

// LiveServers returns how many servers were live at Now.
func (s State) LiveServers() int { return countLive(s.Servers, s.Now) }

// Store keeps the State that the servers share. Implementations are safe for use by many processes.
type Store interface {
	// Renew replaces the state by Next(state, heartbeat, the store's current time), and returns it.
	// After an error the state may or may not have been replaced.
	//
	// It may take two steps: it writes the sender's own row, then changes the rest under a lock if
	// Next changes any of it. If another server holds the lock, the returned state is Busy.
	Renew(ctx context.Context, hb Heartbeat) (State, error)
	// Leave removes the server. An unknown server is no error.
	Leave(ctx context.Context, serverID string) error
}
