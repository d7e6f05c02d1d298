package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"
)

const (
	// RenewEvery is the interval between renewals in a fleet of up to 30 servers. In a larger one
	// it is 10 ms for each server, so that the store has the same load.
	RenewEvery = 300 * time.Millisecond
	// MaxRenewEvery is the longest interval between renewals, that of a hundred servers and more.
	MaxRenewEvery = time.Second
	renewEach     = 10 * time.Millisecond
	// Lease is how long a server may act by its term after it sent its last successful renewal,
	// when it renews every RenewEvery: two and a half intervals and a quarter of a second.
	Lease = RenewEvery*5/2 + 250*time.Millisecond
	// MaxLease is the lease of a server that renews every MaxRenewEvery.
	MaxLease = MaxRenewEvery*5/2 + 250*time.Millisecond
	// CrashLoss is of how long the store may lose renewals in a crash: Postgres writes them within
	// three times wal_writer_delay.
	CrashLoss = 600 * time.Millisecond
	// FenceTimeout is how long after its last heartbeat a server with that Lease has surely stopped
	// acting by its term. The others then no longer wait for it. See fenceTimeout.
	FenceTimeout = Lease + Lease*2/5 + CrashLoss
	// MaxFenceTimeout is that of a server with MaxLease.
	MaxFenceTimeout = MaxLease + MaxLease*2/5 + CrashLoss
	// MemberTTL is how long after its last heartbeat a server counts as live. It is longer than
	// Postgres keeps the open transaction of a frozen server, and longer than MaxFenceTimeout.
	MemberTTL = 5 * time.Second
	// ListedFor is how long a server that did not leave is listed after its last heartbeat.
	ListedFor = 10 * time.Minute
	// CutOffAfter is how long a server that reaches no Redis may come back to it before it counts
	// as CutOff.
	CutOffAfter = 5 * time.Second
	// SetBackWait is how long after a set-back was noticed no server acts: longer than any lease
	// that the store may have lost.
	SetBackWait = MaxLease + 250*time.Millisecond
)

const (
	// maxByClock bounds the numbers that come from the store's clock: they reach it in 2060. A
	// wrong clock cannot use up what freshness and Redis have room for, 31 bits.
	maxByClock = 1 << 30
	// maxHighest bounds what a server takes for the highest number of a term: what comes after
	// maxByClock only counts up.
	maxHighest = maxByClock + 1<<20
	// setBackJump is how many numbers are left out when the store was set back: it may have lost
	// terms that the sender did not know either, and of several in one second all but the first are
	// above the clock.
	setBackJump = 60
)

// epoch is when numbers of terms are 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// CutOff is in place of a fingerprint if a server has reached no Redis for CutOffAfter.
const CutOff = "-"

// renewEvery returns the interval between renewals in a fleet of that many servers, and leaseOf the
// lease that a server with that interval takes.
func renewEvery(servers int) time.Duration {
	return min(max(RenewEvery, time.Duration(servers)*renewEach), MaxRenewEvery)
}

func leaseOf(every time.Duration) time.Duration { return every*5/2 + 250*time.Millisecond }

// RenewLate is the longest interval after which the store may lose the next renewal in a crash: one
// that comes sooner, takes no longer lease and tells nothing new of a term is not waited for on
// disk. It is a little more than the interval of that lease.
func RenewLate(lease time.Duration) time.Duration { return lease * 2 / 5 }

// fenceTimeout is how long after a heartbeat that took the lease its server has surely stopped
// acting, if the store shows none after it.
//
// Let d be that heartbeat, sent and seen at d or before by the store's clock. If it was the last,
// its server stops by d + lease. If a crash of the store at t lost later ones: the first of them
// came by d + RenewLate(lease), and was lost because it came after t - CrashLoss. None of them took
// a longer lease, since a renewal that does is on disk before it is answered, and those before it
// with it. The last of them was sent before t, so its server stops by t + lease < d +
// RenewLate(lease) + CrashLoss + lease.
func fenceTimeout(lease time.Duration) time.Duration {
	lease = max(lease, Lease)
	return lease + RenewLate(lease) + CrashLoss
}

// Term is a period in which all live servers act alike. The zero Term precedes the first.
type Term struct {
	// Number grows with each term, and never repeats, not even in a database that was restored: it
	// is at least the store's clock.
	Number int64
	// First says that no term preceded this one.
	First bool
	// Redis is the fingerprint of the Redis that decides over limits; "" when Postgres decides.
	Redis string
	// Sole is the id of the only live server; "" when there are several, or when Redis decides.
	Sole string
	// SilentUntil is the time by which all servers had surely stopped that ended silently: killed,
	// frozen or cut off. Zero if there was none. In windows that began earlier, what they may have
	// admitted counts as used.
	SilentUntil time.Time
	// Servers is how many servers were live when the term was made.
	Servers int
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
	// Lease is how long it may act after that heartbeat; 0 is Lease.
	Lease time.Duration
}

func (s Server) live(now time.Time) bool { return now.Sub(s.Seen) < MemberTTL }

// Fenced reports whether the server has surely stopped acting by any term that it did not
// acknowledge.
func (s Server) Fenced(now time.Time) bool { return now.Sub(s.Seen) >= fenceTimeout(s.Lease) }

// blocks reports whether the server may still act by a term before that number.
func (s Server) blocks(number int64, now time.Time) bool { return s.Acked < number && !s.Fenced(now) }

// ByID orders servers as in State.
func ByID(a, b Server) int { return cmp.Compare(a.ID, b.ID) }

// Heartbeat is what a server sends in a renewal. Its first fields are those of Server.
type Heartbeat struct {
	ServerID string
	Redis    string
	Acked    int64
	Lease    time.Duration
	// Sequence counts the server's heartbeats: one that arrives after a later one has no effect.
	Sequence int64
	// Highest is the highest number of a term that the server has seen, in the store or in Redis.
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
	// NotBefore is when the term may begin at the earliest, zero for at once.
	NotBefore time.Time
	// Servers are the live ones and those that did not leave within ListedFor, ordered by ID.
	Servers []Server
	// Database names the database as it is: another one after a promotion, or after a restore that
	// made its tables anew. Origin is the one in which the term was made; "" if unknown.
	Database, Origin string
	// Now is the store's time of the renewal that returned the state.
	Now time.Time
	// Busy says that the term is due to change, and that another server was changing it: renew
	// again soon.
	Busy bool
}

// Server returns the server of that id.
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
	// Renew replaces the state by Next of it, the heartbeat and the store's current time, and
	// returns it. After an error the state may or may not have been replaced.
	//
	// It may take two steps: write the sender's own row, and then, only if Next says that anything
	// else changes, change the rest under a lock. Another server may have that lock. Then the state
	// that Renew returns is Busy.
	Renew(ctx context.Context, hb Heartbeat) (State, error)
	// Leave removes the server. It is no error if the server is unknown.
	Leave(ctx context.Context, serverID string) error
}
