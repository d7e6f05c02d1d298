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

// ChangeLasts is longer than any change of a catalogue can take: after it, one that nobody finished is over.
const ChangeLasts = 10 * time.Second

// Versions is told before and after every change of a tenant's catalogue, so that a Decision can say at which version it
// was made: a list that was read after a decision of that version is the present one as long as decisions are of it.
type Versions interface {
	// Change says, before the transaction, that the tenant's catalogue is about to change. done is to be called once when
	// that is over: settled is true when it surely was committed or surely was not, and false when nobody knows; the
	// catalogue then counts as changing until ChangeLasts has passed. An error means that the change must not be
	// made, for readers could not be told.
	Change(ctx context.Context, tenantID int64) (done func(settled bool), err error)
}
