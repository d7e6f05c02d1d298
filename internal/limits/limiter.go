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
	// KeyPerMinute is the key's own limit, 0 for none. Requests are counted for the key only while it has one.
	KeyPerMinute int64
}

// Limiter admits or refuses a tenant's requests. It returns no error: without Redis or Postgres it still decides, if need be as
// Undecided.
type Limiter interface {
	// Take counts one request at the instant now in all windows of the claim, or in none if one of them is full.
	Take(ctx context.Context, c Claim, now time.Time) Decision

	// Peek decides as Take would, and counts nothing: it returns what remains for the next request.
	Peek(ctx context.Context, c Claim, now time.Time) Decision

	// InForce reports whether a request that was admitted with that decision may still be served. If not, what it counted in is
	// over: it must be decided again. Call it when the request has been noted as usage.
	InForce(d *Decision) bool

	// Refund gives back a request that Take admitted for that claim, once, in the windows in which it was counted. It does nothing
	// in a window that is over, and nothing if d was a refusal.
	Refund(ctx context.Context, c Claim, d Decision)
}
