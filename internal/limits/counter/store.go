package counter

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/limits"
)

// ErrTermOver is returned by a Store for a term that is not in force, or in which somebody else
// decides. The caller continues in the next term.
var ErrTermOver = errors.New("the term is over")

// ErrNotBegun is returned by a Store for a request in windows that have not begun by the store's
// clock.
var ErrNotBegun = errors.New("the windows have not begun")

// clockSlack is how far the instant of a request may be ahead of the store's clock: instants are
// known within a round trip, and stand still for a second at most when the store's clock was set
// back.
const clockSlack = time.Second

// Store keeps the durable counters that all servers share beside Redis: a row for every tenant, and
// one for every key with a limit of its own. In a term in which Postgres decides, it gives out
// grants. In a term in which Redis decides, it says where Redis begins.
//
// Rows holds the rules. An implementation runs each call as one transaction: it reads the term in
// force, locks the tenant's row and then the key's, passes both to the rules, and writes back what
// they return. Nothing else changes these rows. The term's own row need not be locked, because each
// row knows the latest term that used it. A tenant's row is kept as long as the tenant. A key's row
// may be deleted when its minute is over.
//
// After an error other than ErrTermOver the call may have been carried out or not.
type Store interface {
	// Initialize returns where Redis begins to count for a tenant in a term. fresh is true for the
	// first call in that term: only that caller may initialize the tenant in Redis. Later calls
	// still return where a key begins in the minute in which the tenant was initialized; in later
	// minutes every key begins at 0. It returns ErrTermOver if the term is not in force or Redis
	// does not decide in it, and ErrNotBegun.
	Initialize(ctx context.Context, r InitRequest) (base Baseline, fresh bool, err error)

	// Grant gives out a part of what remains.
	// It returns ErrTermOver if the term is not in force or Redis decides in it, and ErrNotBegun.
	Grant(ctx context.Context, r GrantRequest) (Grant, error)
}

// Term is what the rules need to know of the term in force.
type Term struct {
	Number int64
	// Redis is true if Redis decides in it.
	Redis bool
	// Servers is how many servers were alive when the term began.
	Servers int
	// Now is the store's clock. No window that begins later is used; if Now is zero, any is.
	Now time.Time
}

// Wanted bounds the windows whose recorded usage a call needs: the latest recorded minute from
// Minute to LatestMinute, and the day likewise.
type Wanted struct{ Minute, Day, LatestMinute, LatestDay int64 }

// Recorded is what is recorded of a tenant's day and minute, when all servers that are not silent
// have recorded what they admitted.
type Recorded struct {
	// Day and Minute are the numbers of the windows, see Wanted. DayUsed and MinuteUsed are the
	// recorded requests in them, KeyUsed the key's share of the minute.
	Day, DayUsed, Minute, MinuteUsed, KeyUsed int64
	// PerMinute is the highest per-minute limit that the tenant had on that day, by the history of
	// its plans.
	PerMinute int64
	// DaySilent is how many servers may have admitted requests of the day that are not recorded,
	// MinuteSilent how many of them in the minute. Each has admitted limits.Margin of them at most.
	DaySilent, MinuteSilent int64
}

// InitRequest asks where Redis begins for a claim's tenant, and for its key if that has a limit of
// its own.
type InitRequest struct {
	limits.Claim
	Term int64
	// At is the instant of the request.
	At time.Time
}

// Baseline is how much of a claim's windows is used. Its windows are those in which the request
// counts: later ones than its own instant's if other requests have counted in later windows before.
type Baseline struct {
	Minute, MinuteUsed int64
	Day, DayUsed       int64
	// KeyUsed is of the same minute; 0 if the key has no limit of its own.
	KeyUsed int64
	// LatestMinute and LatestDay are the latest windows that have begun, for InitTenant.
	LatestMinute, LatestDay int64
}

// Used returns the baseline's counts.
func (b *Baseline) Used() limits.Used {
	return limits.Used{Minute: b.MinuteUsed, Day: b.DayUsed, Key: b.KeyUsed}
}

// GrantRequest asks for a part of what remains to a claim.
type GrantRequest struct {
	limits.Claim
	Term int64
	At   time.Time
	// Want is how many requests wait. 0 only looks.
	Want int64
	// Returns are given back first. They are of grants of this same term, tenant and key.
	Returns []Return
}

// Grant is a number of requests that one server may admit for a claim in these windows without
// asking again, as long as the term is in force and the limits are those of the request.
type Grant struct {
	// Baseline is what is used, these requests included.
	Baseline
	// Count is how many, in every window of the claim; 0 if one of them is used up.
	Count int64
}

// Return gives back requests of a grant that were not admitted, or were admitted and refunded: each
// once. A window that is over stays as it is.
type Return struct {
	Minute, Day int64 // the windows of the grant
	Count       int64
}

// latest returns the latest windows of a tenant that have begun.
func (t Term) latest(tenantID int64) (minute, day int64) {
	latest := t.Now.Add(clockSlack)
	return limits.MinuteAt(tenantID, latest), limits.DayAt(latest)
}

// begun returns ErrNotBegun for a request of windows that have not begun.
func (t Term) begun(tenantID int64, at time.Time) error {
	minute, day := t.latest(tenantID)
	if !t.Now.IsZero() && (limits.MinuteAt(tenantID, at) > minute || limits.DayAt(at) > day) {
		return ErrNotBegun
	}
	return nil
}
