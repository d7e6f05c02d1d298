package gate

import (
	"context"
	"net/netip"
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// Directory looks up callers by their keys.
type Directory interface {
	// Find returns the caller of a valid key. It returns keys.ErrInvalidKey if the key is not
	// valid; for an issued key this is a keys.StatusError, and Find returns the caller too. It
	// returns keys.ErrUnavailable if it can't determine that, and keys.ErrNotCached if only Lookup
	// can. arrived is when the request arrived, by time.Now: Find knows all changes that were
	// acknowledged 300 ms earlier.
	Find(ctx context.Context, t keys.Token, arrived time.Time) (*keys.Caller, error)
	// Lookup is Find with a query for a key that is not in memory. It does not return
	// keys.ErrNotCached.
	Lookup(ctx context.Context, t keys.Token) (*keys.Caller, error)
}

// Addresses counts requests without a valid key.
type Addresses interface {
	// Take counts one request of the address. Reached is true if it is over the limit.
	Take(addr netip.Addr, now time.Time) limiter.Context
	// Return undoes a Take made at that time.
	Return(addr netip.Addr, now time.Time)
	// Peek returns the state of the address and counts nothing.
	Peek(addr netip.Addr, now time.Time) limiter.Context
}

// Strikes counts requests that a limit refused, and bans a key that is refused too often.
type Strikes interface {
	// Refused counts one request in the minute window with that number. It does so even if ctx
	// ends: a client can't avoid its strike by disconnecting.
	Refused(ctx context.Context, c *keys.Caller, minute int64, now time.Time)
	// NextBan returns how long the key's next ban would last. An error is a keys.ErrUnavailable.
	NextBan(ctx context.Context, keyID string, now time.Time) (time.Duration, error)
}

// Meter records usage, by the request's instant and the tenant's minute in which it counts. Only
// Flush may block.
type Meter interface {
	// Admitted counts an admitted request. It returns false if the tenant then has more than most
	// unrecorded requests: this one may be admitted only after Flush has recorded it.
	Admitted(b usage.Bucket, at time.Time, minute, most int64) bool
	Refused(b usage.Bucket, at time.Time)
	// UsedUp records that a day or a month has refused a request.
	UsedUp(r usage.Refusal)
	Refunded(b usage.Bucket, at time.Time, minute int64)
	// Used records a use of the key by a request that counts nowhere.
	Used(b usage.Bucket, at time.Time)
	Flush(ctx context.Context) error
}
