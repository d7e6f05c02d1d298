package plans

import (
	"context"
	"errors"
	"time"
)

// ErrTermOver is returned by a Ground for a term that is not in force any more, or in which somebody else decides. The caller
// goes the way of the term that follows.
var ErrTermOver = errors.New("the term is over")

// Full is what a window counts as used that is closed because nobody knows how much of it is: no limit reaches it, so an
// upgrade does not open the window either. Sums with it stay below 2^53, which is what a script in Redis can count.
const Full = int64(1) << 50

// Ground is what all servers of the cluster share beside Redis: a row for every tenant, and one for every key with a limit of its
// own. In a term in which Postgres decides it grants portions. In a term in which Redis decides it says where Redis has to
// begin, and at the end it hears how far Redis came.
//
// What it does to the rows is said by GroundRows. An implementation runs each call, or each report of a call, as one transaction:
// it reads the term in force, locks the tenant's row and then the key's, hands both over, and writes back what it gets. Nothing
// else changes these rows. The term's own row need not be locked: rows know the latest term that used them. A tenant's row is
// kept as long as the tenant: without it nobody knows that Redis has counted. A key's may go when its minute is over.
//
// Errors other than ErrTermOver mean that the call may have been carried out or not.
type Ground interface {
	// Report takes down what a server knows at the end of a term, whichever is in force now. What it has seen used counts
	// by the greatest, so it may be sent again; what it gives back must be sent once.
	Report(ctx context.Context, reports []Report) error

	// Open returns from where Redis counts a tenant in a term. fresh is true for the first to ask in that term: it alone may
	// begin the tenant's count. After that the answer still says from where a key of its counts, in the minute in which
	// the tenant was opened; in later ones every key begins at 0.
	// It returns ErrTermOver when the term is not in force, or Redis does not decide in it.
	Open(ctx context.Context, o Opening) (base Base, fresh bool, err error)

	// Portion takes a part of what remains.
	// It returns ErrTermOver when the term is not in force, or Redis decides in it.
	Portion(ctx context.Context, p PortionClaim) (Portion, error)
}

// GroundTerm is the term in force, as far as it matters here.
type GroundTerm struct {
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

// Opening asks where Redis has to begin for a claim's tenant, and for its key when that has a limit of its own.
type Opening struct {
	Claim
	Term int64
	// At is the instant of the request, by the clock of the server that it reached.
	At time.Time
}

// Base is how much of a claim's windows is used. The numbers are those of the windows that the request counts in: later
// ones than its own instant's when other requests came in later windows before.
type Base struct {
	Minute, MinuteUsed int64
	Day, DayUsed       int64
	// KeyUsed is of the same minute; 0 when the key has no limit of its own.
	KeyUsed int64
}

// PortionClaim asks for a part of what remains to a claim.
type PortionClaim struct {
	Claim
	Term int64
	At   time.Time
	// Want is how many requests wait: 0 only looks.
	Want int64
	// Back is given back before: of portions of this same term, tenant and key.
	Back []Back
}

// Portion is a number of requests that one server may admit for a claim in the windows of these numbers, without asking
// again, as long as the term is in force and the limits are those that it was asked with.
type Portion struct {
	// Base is what is used, these requests included.
	Base
	// Granted is as many in every window of the claim; 0 when one of them is used up.
	Granted int64
}

// Back is requests of a portion that were not admitted, or were admitted and refunded: each once. A window that is over
// by now stays as it is.
type Back struct {
	Minute, Day int64 // the windows that the portion was taken in
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
	Seen Base
	// Back is of portions of that term.
	Back []Back
}
