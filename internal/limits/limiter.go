package limits

import (
	"context"
	"math"
	"time"

	"petstore.example/internal/plans"
)

// Claim is what one request asks for.
type Claim struct {
	TenantID int64
	KeyID    string
	// Quota is the quota in force for this request. What was counted under another quota stays
	// counted.
	Quota plans.Quota
	// KeyPerMinute is the key's own limit, 0 for none. A key's requests are counted only while it
	// has one.
	KeyPerMinute int64
}

// Counts returns the number of a month if the claim's requests count in months, else 0. They do if
// the quota has a month, also without a limit.
func (c *Claim) Counts(month int64) int64 {
	if c.Quota.Month.Kind == plans.SomeMonth {
		return month
	}
	return 0
}

// MonthAt returns the number of the month in which the claim's requests count at an instant, 0 if
// they count in none.
func (c *Claim) MonthAt(at time.Time) int64 {
	if c.Quota.Month.Kind == plans.SomeMonth {
		return MonthAt(at)
	}
	return 0
}

// MonthLimit returns the limit of the month, higher than any count if there is none.
func (c *Claim) MonthLimit() int64 {
	if limit, ok := c.Quota.Month.Cap(); ok {
		return limit
	}
	return math.MaxInt64
}

// Limiter admits or refuses a tenant's requests. It returns no error: without Redis or Postgres it
// still decides, possibly as Undecided.
type Limiter interface {
	// Take counts one request at the instant now in all windows of the claim, or in none if one of
	// them is full.
	Take(ctx context.Context, c Claim, now time.Time) Decision

	// Peek decides as Take would but counts nothing: it returns what remains for the next request.
	Peek(ctx context.Context, c Claim, now time.Time) Decision

	// InForce reports whether a request admitted with that decision may still be served. If not,
	// its term is over, and it must be decided again. Call it after the request was counted as
	// usage.
	InForce(d *Decision) bool

	// Refund gives back a request that Take admitted for that claim, once, in the windows that
	// counted it. It does nothing in a window that is over, or if d was a refusal.
	Refund(ctx context.Context, c Claim, d Decision)
}

// WriteLimiter is a Limiter of several servers. Its decision over a request also announces the
// request's write to them, in the same round trip.
type WriteLimiter interface {
	Limiter
	// TakeWrite is Take for a request that will probably write to the tenant's catalogue. If it is
	// admitted, the write may be announced: a is then not nil, and freshness.Invalidator announces
	// the tenant's writes without a round trip until a is released or a second has passed.
	TakeWrite(ctx context.Context, c Claim, now time.Time) (d Decision, a Announced)
}

// Announced is a write to a catalogue that was announced before it begins.
type Announced interface {
	// Release says that no further write will begin under it. It is called once.
	Release()
}
