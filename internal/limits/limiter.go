package limits

import (
	"context"
	"time"

	"petstore.example/internal/plans"
)

// Claim is what one request asks for.
type Claim struct {
	TenantID int64
	KeyID    string
	// Quota is in force for this request. What was counted under another quota stays counted.
	Quota plans.Quota
	// KeyPerMinute is the key's own limit, 0 for none. Requests are counted for the key only while
	// it has one.
	KeyPerMinute int64
}

// Limiter admits or refuses a tenant's requests. It returns no error: without Redis or Postgres it
// still decides, if need be as Undecided.
type Limiter interface {
	// Take counts one request at the instant now in all windows of the claim, or in none if one of
	// them is full.
	Take(ctx context.Context, c Claim, now time.Time) Decision

	// Peek decides as Take would, and counts nothing: it returns what remains for the next request.
	Peek(ctx context.Context, c Claim, now time.Time) Decision

	// InForce reports whether a request that was admitted with that decision may still be served.
	// If not, what it counted in is over: it must be decided again. Call it when the request has
	// been noted as usage.
	InForce(d *Decision) bool

	// Refund gives back a request that Take admitted for that claim, once, in the windows in which
	// it was counted. It does nothing in a window that is over, and nothing if d was a refusal.
	Refund(ctx context.Context, c Claim, d Decision)
}

// WriteLimiter is a Limiter of several servers, which learn of a write with the decision over its
// request, in one round trip.
type WriteLimiter interface {
	Limiter
	// TakeWrite is Take for a request that will probably write to the tenant's catalogue. If it is
	// admitted, the write may be announced: then a is not nil, and freshness.Invalidator announces
	// writes of the tenant without a round trip until a is released, or a second has passed.
	TakeWrite(ctx context.Context, c Claim, now time.Time) (d Decision, a Announced)
}

// Announced is a write to a catalogue that was announced before it begins.
type Announced interface {
	// Release says that no further write begins by it. It is called once.
	Release()
}
