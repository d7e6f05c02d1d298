package plans

import (
	"context"
	"errors"
	"time"
)

// ErrTermOver is returned by a CounterStore for a term that is not in force any more, or in which somebody else decides. The caller
// goes the way of the term that follows.
var ErrTermOver = errors.New("the term is over")

// Saturated is what a window counts as used that is closed because nobody knows how much of it is: no limit reaches it, so an
// upgrade does not open the window either. Sums with it stay below 2^53, which is what a script in Redis can count.
const Saturated = int64(1) << 50

// CounterStore is what all servers of the cluster share beside Redis: a row for every tenant, and one for every key with a limit of its
// own. In a term in which Postgres decides it grants grants. In a term in which Redis decides it says where Redis has to
// begin, and at the end it hears how far Redis came.
//
// What it does to the rows is said by CounterRows. An implementation runs each call, or each report of a call, as one transaction:
// it reads the term in force, locks the tenant's row and then the key's, hands both over, and writes back what it gets. Nothing
// else changes these rows. The term's own row need not be locked: rows know the latest term that used them. A tenant's row is
// kept as long as the tenant: without it nobody knows that Redis has counted. A key's may go when its minute is over.
//
// Errors other than ErrTermOver mean that the call may have been carried out or not.
type CounterStore interface {
	// Report takes down what a server knows at the end of a term, whichever is in force now. What it has seen used counts
	// by the greatest, so it may be sent again; what it gives back must be sent once.
	Report(ctx context.Context, reports []Report) error

	// Initialize returns from where Redis counts a tenant in a term. fresh is true for the first to ask in that term: it alone may
	// begin the tenant's count. After that the answer still says from where a key of its counts, in the minute in which
	// the tenant was opened; in later ones every key begins at 0.
	// It returns ErrTermOver when the term is not in force, or Redis does not decide in it.
	Initialize(ctx context.Context, o InitRequest) (base Baseline, fresh bool, err error)

	// Grant takes a part of what remains.
	// It returns ErrTermOver when the term is not in force, or Redis decides in it.
	Grant(ctx context.Context, p GrantRequest) (Grant, error)
}

// CounterTerm is the term in force, as far as it matters here.
type CounterTerm struct {
	Number int64
	// Redis is true when Redis decides in it.
	Redis bool
	// UncleanUntil is when the last server that ended silently (killed, frozen, cut off) had surely stopped; zero for none. It only
	// grows from term to term.
	UncleanUntil time.Time
	// Servers is how many were alive when it began.
	Servers int
}

// Recorded is what billing knows of a tenant's day.
type Recorded struct {
	// Used is how many requests were admitted, as far as they are recorded.
	Used int64
	// PerMinute is the highest per-minute limit that the tenant had on that day, by the history of its plans.
	PerMinute int64
}

// InitRequest asks where Redis has to begin for a claim's tenant, and for its key when that has a limit of its own.
type InitRequest struct {
	Claim
	Term int64
	// At is the instant of the request, by the clock of the server that it reached.
	At time.Time
}

// Baseline is how much of a claim's windows is used. The numbers are those of the windows that the request counts in: later
// ones than its own instant's when other requests came in later windows before.
type Baseline struct {
	Minute, MinuteUsed int64
	Day, DayUsed       int64
	// KeyUsed is of the same minute; 0 when the key has no limit of its own.
	KeyUsed int64
}

// GrantRequest asks for a part of what remains to a claim.
type GrantRequest struct {
	Claim
	Term int64
	At   time.Time
	// Want is how many requests wait: 0 only looks.
	Want int64
	// Returns are given back before: of grants of this same term, tenant and key.
	Returns []Return
}

// Grant is a number of requests that one server may admit for a claim in the windows of these numbers, without asking
// again, as long as the term is in force and the limits are those that it was asked with.
type Grant struct {
	// Baseline is what is used, these requests included.
	Baseline
	// Count is as many in every window of the claim; 0 when one of them is used up.
	Count int64
}

// Return is requests of a grant that were not admitted, or were admitted and refunded: each once. A window that is over
// by now stays as it is.
type Return struct {
	Minute, Day int64 // the windows that the grant was taken in
	Count       int64
}

// Report is what one server knows of a tenant, or of one key, at the end of a term.
type Report struct {
	TenantID int64
	// KeyID is set for what concerns a key with a limit of its own; "" otherwise.
	KeyID string
	// Term is the one that ended.
	Term int64
	// Seen is the most that this server has seen used in the latest windows that it knows of, by answers of Redis. It is
	// zero at the end of a term in which Postgres decided.
	Seen Baseline
	// Returns are of grants of that term.
	Returns []Return
}
