package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// IdempotencyLifetime is how long the answer to a request with an idempotency key is kept.
const IdempotencyLifetime = 24 * time.Hour

// Errors of a OnceStore. Stores wrap them, so compare with errors.Is.
var (
	// ErrIdempotencyInProgress: a request with this key is being worked on; trying again soon helps.
	ErrIdempotencyInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrIdempotencyKeyReused: the key came before, with another body.
	ErrIdempotencyKeyReused = errors.New("the idempotency key was used with another body")
)

// Idempotency names a request that must take effect once, however often it is sent.
type Idempotency struct {
	// Method, Path and Key are the scope, within the tenant. Path is the route's, without a query.
	Method, Path, Key string
	// Fingerprint tells bodies apart: the digest of the body in its canonical form.
	Fingerprint [sha256.Size]byte
	// At is the instant of the request: by it earlier answers have expired or not, and this one's lifetime begins.
	At time.Time
}

// Answer is what a customer was answered, as it is kept to be given again.
type Answer struct {
	Status   int    `db:"status"`
	Location string `db:"location"`
	Body     []byte `db:"body"`
}

// Creator adds what customers can add by POST.
type Creator interface {
	// CreatePet is Store's.
	CreatePet(ctx context.Context, tenantID int64, p NewPet) (Pet, error)
	// PlaceOrder is OrderStore's.
	PlaceOrder(ctx context.Context, tenantID int64, o NewOrder) (Order, error)
}

// OnceStore lets requests that are repeated take effect once.
type OnceStore interface {
	// Once calls work, and keeps its answer for IdempotencyLifetime: all that work does through the Creator and the kept
	// answer are one transaction. Where an answer is kept already, it returns that one, and true. An error of work is
	// returned as it is, and nothing is kept or done.
	//
	// It never waits for another request with the same key: it returns ErrIdempotencyInProgress while the first one runs, which ends
	// with that one's connection at the latest, and ErrIdempotencyKeyReused when an answer to another body is kept.
	// The transaction holds a connection of the database: work should do no more than create and render. It may be called a
	// second time, after all that it did the first time was undone.
	//
	// Without r, work is called with a plain Creator and nothing is kept.
	Once(ctx context.Context, tenantID int64, r *Idempotency, work func(context.Context, Creator) (Answer, error)) (a Answer, replayed bool, err error)
}
