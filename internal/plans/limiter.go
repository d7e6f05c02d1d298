package plans

import (
	"context"
	"time"
)

// Limiter decides over a tenant's requests. It never fails: where a server behind it does, it goes on with less.
type Limiter interface {
	// Take counts one request at the instant now in both windows of the tenant, or, when either is full, in neither.
	// The quota is the one in force for this request; what was counted under another quota stays counted.
	Take(ctx context.Context, tenantID int64, q Quota, now time.Time) Decision

	// Refund gives back, once, a request that Take admitted, in the windows in which it was counted; a window that is
	// over stays as it is, and so does everything when d was a refusal.
	Refund(ctx context.Context, tenantID int64, d Decision)
}
