package counter

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/limits"
)

// ErrTermOver is returned by a Store if the term is not in force, or does not decide where the
// caller assumes. The caller continues in the next term.
var ErrTermOver = errors.New("the term is over")

// ErrNotBegun is returned by a Store for a request whose windows have not begun by the store's
// clock.
var ErrNotBegun = errors.New("the windows have not begun")

// clockSlack is how far a request's instant may be ahead of the store's clock. Instants are known
// within a round trip, and stand still for at most a second if the store's clock was set back.
const clockSlack = time.Second

// Store keeps the durable counters that all servers share beside Redis: a row for every tenant, and
// one for every key with a limit of its own. In a term in which Postgres decides, it gives out
// grants. In a term in which Redis decides, it says where Redis begins.
//
// Rows holds the rules. An implementation runs each call as one transaction: it reads the term in
// force, locks the tenant's row and then the key's, passes both to the rules, and writes back the
// result. Nothing else changes these rows. The term's own row need not be locked, because each row
// knows the latest term that used it. A tenant's row is kept as long as the tenant. A key's row may
// be deleted when its minute is over.
//
// After an error other than ErrTermOver the call may or may not have been carried out.
type Store interface {
	// Initialize returns where Redis begins to count for a tenant in a term. fresh is true for the
	// first call in that term: only that caller may initialize the tenant in Redis. Later calls
	// still return where a key begins, in the minute in which the tenant was initialized; in later
	// minutes every key begins at 0. The error is ErrTermOver if the term is not in force or Redis
	// does not decide in it, or ErrNotBegun.
	Initialize(ctx context.Context, r InitRequest) (base Baseline, fresh bool, err error)

	// Grant gives out a part of what remains. The error is ErrTermOver if the term is not in force
	// or Redis decides in it, or ErrNotBegun.
	Grant(ctx context.Context, r GrantRequest) (Grant, error)
}

// Term is what the rules need to know of the term in force.
type Term struct {
	Number int64
	// Redis is true if Redis decides in it.
	Redis bool
	// Servers is the number of live servers when the term began.
	Servers int
	// Now is the store's time. No window that begins later is used, unless Now is zero.
	Now time.Time
}

// Wanted says which recorded usage a call needs: of the latest recorded minute from Minute to
// LatestMinute, and of the day and month likewise.
type Wanted struct{ Minute, Day, Month, LatestMinute, LatestDay, LatestMonth int64 }

// Recorded is a tenant's recorded usage of a minute, a day and a month, once all servers that are
// not silent have recorded what they admitted.
type Recorded struct {
	// Day, Minute and Month are the numbers of the windows (see Wanted), DayUsed, MinuteUsed and
	// MonthUsed the requests recorded in them. KeyUsed is the key's share of the minute.
	Day, DayUsed, Minute, MinuteUsed, KeyUsed, Month, MonthUsed int64
	// PerMinute is the tenant's highest limit per minute on the day, from the history of its plans,
	// and MonthPerMinute that in the month.
	PerMinute, MonthPerMinute int64
	// DaySilent is the number of servers that may have admitted requests of the day without
	// recording them; MinuteSilent and MonthSilent count those that may have done so in the minute
	// and in the month. Each of these servers has admitted at most limits.Margin such requests.
	DaySilent, MinuteSilent, MonthSilent int64
}

// InitRequest asks where Redis begins for a claim's tenant, and for its key if the key has a limit
// of its own.
type InitRequest struct {
	limits.Claim
	Term int64
	// At is the instant of the request.
	At time.Time
}

// Baseline is how much of a claim's windows is used. The windows are the ones at the request's
// instant, or later ones in which other requests have already counted.
type Baseline struct {
	Minute, MinuteUsed int64
	Day, DayUsed       int64
	Month, MonthUsed   int64
	// KeyUsed is the key's use of the same minute; 0 if the key has no limit of its own.
	KeyUsed int64
	// LatestMinute, LatestDay and LatestMonth are the latest windows that have begun, for
	// InitTenant.
	LatestMinute, LatestDay, LatestMonth int64
}

// Used returns the baseline's counts.
func (b *Baseline) Used() limits.Used {
	return limits.Used{Minute: b.MinuteUsed, Day: b.DayUsed, Key: b.KeyUsed, Month: b.MonthUsed}
}

// GrantRequest asks for a part of a claim's remaining requests.
type GrantRequest struct {
	limits.Claim
	Term int64
	At   time.Time
	// Want is the number of waiting requests; with 0 the call only looks.
	Want int64
	// Returns are given back first. They belong to grants of the same term, tenant and key.
	Returns []Return
}

// Grant is a number of requests that one server may admit for a claim in the Baseline's windows
// without asking again, while the term is in force and the limits are unchanged.
type Grant struct {
	// Baseline is what is used, including this grant.
	Baseline
	// Count is the number of requests granted in every window of the claim; 0 if a window is used
	// up.
	Count int64
}

// Return gives back granted requests that were not admitted, or were refunded: each once. A window
// that is over does not change.
type Return struct {
	Minute, Day int64 // the windows of the grant
	// Month is the month in which the requests counted, 0 for none.
	Month int64
	Count int64
}

// In reports whether r is of the windows of o.
func (r Return) In(o Return) bool {
	return r.Minute == o.Minute && r.Day == o.Day && r.Month == o.Month
}

// latest returns the tenant's latest windows that have begun.
func (t Term) latest(tenantID int64) (minute, day, month int64) {
	latest := t.Now.Add(clockSlack)
	return limits.MinuteAt(tenantID, latest), limits.DayAt(latest), limits.MonthAt(latest)
}

// begun returns ErrNotBegun if the windows at the instant have not begun.
func (t Term) begun(tenantID int64, at time.Time) error {
	minute, day, _ := t.latest(tenantID) // A month begins with its first day.
	if !t.Now.IsZero() && (limits.MinuteAt(tenantID, at) > minute || limits.DayAt(at) > day) {
		return ErrNotBegun
	}
	return nil
}
