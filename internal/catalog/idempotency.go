package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// IdempotencyLifetime is how long the answer to a request with an idempotency key is stored.
const IdempotencyLifetime = 24 * time.Hour

// Errors of a OnceStore. Stores wrap them, so compare with errors.Is.
var (
	// ErrIdempotencyInProgress: a request with this key is in progress; a retry soon helps.
	ErrIdempotencyInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrIdempotencyKeyReused: the key was used with another body.
	ErrIdempotencyKeyReused = errors.New("the idempotency key was used with another body")
)

// Idempotency identifies a request that must take effect once, however often it is sent.
type Idempotency struct {
	// Method, Path and Key identify the request within the tenant. Path has no query.
	Method, Path, Key string
	// Fingerprint is the digest of the body in its canonical form.
	Fingerprint [sha256.Size]byte
	// At is the time of the request. The lifetime of its answer begins then, and earlier answers may have
	// expired by then.
	At time.Time
}

// Answer is a stored response, to be sent again.
type Answer struct {
	Status   int    `db:"status"`
	Location string `db:"location"`
	Body     []byte `db:"body"`
}

// Creator creates what customers can create by POST.
type Creator interface {
	// CreatePet is that of Store.
	CreatePet(ctx context.Context, tenantID int64, p NewPet) (Pet, error)
	// PlaceOrder is that of OrderStore.
	PlaceOrder(ctx context.Context, tenantID int64, o NewOrder) (Order, error)
}

// OnceStore makes repeated requests take effect once.
type OnceStore interface {
	// Once calls work and stores its answer for IdempotencyLifetime, in one transaction with what work does
	// through the Creator. If an answer is stored already, it returns that one and true instead. It returns
	// an error of work as it is, after a rollback.
	//
	// It never waits for another request with the same key. It returns ErrIdempotencyInProgress while that
	// one runs, at most until its connection ends, and ErrIdempotencyKeyReused if an answer to another body
	// is stored. The transaction holds a connection, so work should only create and render. It may be called
	// again after a rollback.
	//
	// If r is nil, work is called with a plain Creator and nothing is stored.
	Once(ctx context.Context, tenantID int64, r *Idempotency, work func(context.Context, Creator) (Answer, error)) (a Answer, replayed bool, err error)
}
