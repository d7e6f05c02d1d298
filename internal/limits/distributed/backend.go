package distributed

import (
	"context"
	"fmt"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// Backend counts in terms in which Redis decides: by scripts in Redis, or by a model of them in
// memory. A call takes at most Options.Timeout. After an error the call may or may not have been
// carried out; the limiter then considers Redis lost, unless the call was Ping.
//
// A tenant's counts belong to one term. InitTenant begins its counts in a term; a call of another
// term finds the tenant uninitialized. If Redis has counts of a later term, Take, InitTenant and
// BeginWrite return a LaterTermError.
type Backend interface {
	// Take first removes the given write intents, if they are still there. Then it counts each
	// request as far as it fits, in order, and sets its Reply. If some of the requests will write,
	// it leaves a write intent, as BeginWrite does.
	Take(term int64, over []WriteIntent, requests []Request) error
	// InitTenant begins a tenant's count in a term at a baseline, unless it has begun in this or a
	// later term. A higher count of an earlier term is kept, in windows that have begun. changing
	// says that servers may still be writing to the tenant's catalogue without having announced it
	// in this term.
	InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error
	// InitKey begins a key's count in a minute of a term, if the tenant's count is in that minute
	// and the key's has not begun in it. A higher count of an earlier term in that minute is kept.
	InitKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error
	// Refund takes one from each window that is still current, and reports the refund to all
	// servers. month is 0 if the request did not count in one.
	Refund(ctx context.Context, term int64, c *limits.Claim, minute, day, month int64) error
	// BeginWrite leaves a write intent and gives the tenant's catalogue a new version. ok is false
	// if the tenant is uninitialized.
	BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error)
	// Ping checks that Redis can do all of this, on every master, and returns which Redis it is.
	Ping(ctx context.Context) (fingerprint string, err error)
	// Pin makes calls to any other Redis fail. With "" all calls but Ping fail.
	Pin(fingerprint string)
	// Listen reports refunds to the listener until ctx ends.
	Listen(ctx context.Context, to RefundListener)
}

// LaterTermError says that Redis counts for the tenant in a later term than the cluster's: the
// database was set back.
type LaterTermError struct{ Term int64 }

func (e LaterTermError) Error() string {
	return fmt.Sprintf("redis has counts of term %d, which is yet to come: the database was set back", e.Term)
}

// RefundListener hears of the requests that any server gave back.
type RefundListener interface {
	// Subscribed is called with a new number when a subscription begins, and with 0 when it is
	// lost.
	Subscribed(session int64)
	// Refunded is called for each refund.
	Refunded(tenantID int64)
}

// WriteIntent is a write intent left by this or another server.
type WriteIntent struct{ TenantID, Version int64 }

// Request stands for requests of one claim in windows, given by their numbers. Month is 0 if they do
// not count in a month.
type Request struct {
	Claim              limits.Claim
	Minute, Day, Month int64
	// Count is the number of requests; 0 only looks. Writes is how many of them will probably write
	// to the tenant's catalogue.
	Count, Writes int64
	// SameTenant says that an earlier request of the same call has the same tenant.
	SameTenant bool
	// previous is used by batch. intent is the write intent that was left; the requests hold it.
	previous int32
	intent   *intent
	Reply
}

// Reply is the result of a Request.
type Reply struct {
	Status Status
	// InMinute, InDay and InMonth are the tenant's windows, in which the requests count. They may be
	// later than the Request's.
	InMinute, InDay, InMonth int64
	// Used is what was used of these windows before the requests. They count as long as they fit
	// into all windows.
	Used limits.Used
	// Version is the catalogue's version within the term, from 1; 0 while the catalogue is written
	// to.
	Version int64
	// Intent is the version of the write intent that was left, 0 for none. One is left if any of
	// the requests was counted and some will write.
	Intent int64
}

// Status says whether a Request was counted.
type Status int8

const (
	// Counted says that the reply is valid.
	Counted Status = iota
	// Uninitialized says that the tenant's count has not begun in this term.
	Uninitialized
	// KeyUninitialized says that the key's count has not begun in the tenant's current minute.
	KeyUninitialized
)

// after returns what is used after the requests, and how many of them fit.
func (r *Request) after() (u limits.Used, fits int64) {
	fits = r.Used.Fits(&r.Claim, r.Count)
	return r.Used.Plus(&r.Claim, fits), fits
}
