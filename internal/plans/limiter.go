package plans

import (
	"context"
	"time"
)

// Claim is what one request asks for.
type Claim struct {
	TenantID int64
	KeyID    string
	// Quota is the one in force for this request; what was counted under another quota stays counted.
	Quota Quota
	// KeyPerMinute is the key's own limit, 0 for none. Requests are counted for the key only while it has one.
	KeyPerMinute int64
}

// Limiter decides over a tenant's requests. It never fails: where a server behind it does, it goes on with less.
type Limiter interface {
	// Take counts one request at the instant now in all windows of the claim, or, when one of them is full, in none.
	Take(ctx context.Context, c Claim, now time.Time) Decision

	// Peek decides as Take would, and counts nothing: what remains is what the next request finds.
	Peek(ctx context.Context, c Claim, now time.Time) Decision

	// Refund gives back, once, a request that Take admitted for that claim, in the windows in which it was counted; a window
	// that is over stays as it is, and so does everything when d was a refusal.
	Refund(ctx context.Context, c Claim, d Decision)
}
