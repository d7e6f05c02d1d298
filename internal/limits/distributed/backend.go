package distributed

import (
	"context"
	"fmt"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// Backend counts in terms in which Redis decides: scripts in Redis, or a model of them in memory. A
// call takes Options.Timeout at most. After an error it may have been carried out or not, and the
// limiter takes Redis for lost, unless the call was Ping.
//
// What is counted for a tenant belongs to one term: InitTenant begins it, and a call of another
// term finds it uninitialized. If that term is a later one, the error of Take, InitTenant and
// BeginWrite is a LaterTermError.
type Backend interface {
	// Take removes the write intents that are over, if they are still there. Then it counts each
	// request as far as it fits, in their order, and sets its Reply. If some of the requests will
	// write, it leaves a write intent, as BeginWrite does.
	Take(term int64, over []WriteIntent, requests []Request) error
	// InitTenant begins a tenant's count in a term at a baseline, unless it has begun in this or a
	// later term. What was counted in an earlier term stays counted if it is more, in windows that
	// have begun. changing says that servers that did not announce it in this term may still be
	// writing to its catalogue.
	InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error
	// InitKey begins a key's count in a minute of a term, if the tenant's count is in that minute
	// and the key's has not begun in it. What was counted in it in an earlier term stays counted if
	// it is more.
	InitKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error
	// Refund takes one from each window that is still the current one, and tells all servers.
	Refund(ctx context.Context, term int64, c *limits.Claim, minute, day int64) error
	// BeginWrite leaves a write intent and gives the tenant's catalogue a new version. ok is false
	// if the tenant is uninitialized.
	BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error)
	// Ping checks that Redis can do all of this, on every master, and returns which Redis it is.
	Ping(ctx context.Context) (fingerprint string, err error)
	// Pin makes calls fail that reach another Redis. With "" all calls fail, except Ping.
	Pin(fingerprint string)
	// Listen tells the listener of refunds until ctx ends.
	Listen(ctx context.Context, to RefundListener)
}

// LaterTermError says that a tenant's count has begun in a later term than the cluster's: the
// database was set back.
type LaterTermError struct{ Term int64 }

func (e LaterTermError) Error() string {
	return fmt.Sprintf("redis has counts of term %d, which is yet to come: the database was set back", e.Term)
}

// RefundListener is told of requests that any server gave back.
type RefundListener interface {
	// Subscribed is called with a new number when a subscription begins, and with 0 when it is
	// lost.
	Subscribed(session int64)
	// Refunded is called for each refund.
	Refunded(tenantID int64)
}

// WriteIntent is one that this or another server left.
type WriteIntent struct{ TenantID, Version int64 }

// Request is a number of requests of one claim, in the windows with these numbers.
type Request struct {
	Claim       limits.Claim
	Minute, Day int64
	// Count is how many; 0 only looks. Writes is how many of them will probably write to the
	// tenant's catalogue.
	Count, Writes int64
	// SameTenant says that an earlier request of the same call is of the same tenant.
	SameTenant bool
	// previous is used by batch. intent is the one that was left, by which the requests hold it.
	previous int32
	intent   *intent
	Reply
}

// Reply is the result of a Request.
type Reply struct {
	Status Status
	// InMinute and InDay are the windows in which the requests count: those of the Request, or
	// later ones.
	InMinute, InDay int64
	// Used is how much of them was used before. As many of the requests count as fit into all
	// windows.
	Used limits.Used
	// Version is that of the tenant's catalogue within the term, from 1; 0 while it is written to.
	Version int64
	// Intent is the version of the write intent that was left, 0 for none. One is left if any of
	// the requests was counted, and some will write.
	Intent int64
}

// Status says whether a Request was counted.
type Status int8

const (
	// Counted says that the reply is valid.
	Counted Status = iota
	// Uninitialized says that the tenant's count has not begun in this term.
	Uninitialized
	// KeyUninitialized says that the key's count has not begun in the minute in which the tenant's
	// began.
	KeyUninitialized
)

// after returns what is used after the requests, and how many of them fitted.
func (r *Request) after() (u limits.Used, fits int64) {
	fits = min(r.Count, r.Claim.Quota.PerMinute-r.Used.Minute, r.Claim.Quota.PerDay-r.Used.Day)
	if r.Claim.KeyPerMinute > 0 {
		fits = min(fits, r.Claim.KeyPerMinute-r.Used.Key)
	}
	fits = max(0, fits)
	return r.Used.Plus(fits), fits
}
