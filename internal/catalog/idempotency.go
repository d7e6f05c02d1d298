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
	// At is the time of the request. The lifetime of its answer begins then. It also decides
	// whether an earlier answer has expired.
	At time.Time
}

// Answer is a stored response, to be sent again.
type Answer struct {
	Status   int    `db:"status"`
	Location string `db:"location"`
	Body     []byte `db:"body"`
}

// Once is a POST that creates something, and must take effect once.
type Once[New, Created any] struct {
	Request Idempotency
	New     New
	// Answer returns the answer to store. It is called with what was created, before the commit.
	Answer func(*Created) (Answer, error)
}

// Answered is the answer to a Once.
type Answered struct {
	Answer
	// Replayed is set if the answer was stored already. Then nothing was created.
	Replayed bool
}

// OnceStore makes repeated requests take effect once.
//
// Each method creates something and stores its answer for IdempotencyLifetime, in one transaction.
// If an answer is stored already, it returns that one. If Answer returns an error, the method
// returns it unchanged and creates nothing.
//
// It never waits for another request with the same key. It returns ErrIdempotencyInProgress while
// that one runs, at most until its connection ends, and ErrIdempotencyKeyReused if an answer to
// another body is stored.
type OnceStore interface {
	// CreatePetOnce is Store's CreatePet.
	CreatePetOnce(ctx context.Context, tenantID int64, o Once[NewPet, Pet]) (Answered, error)
	// PlaceOrderOnce is OrderStore's PlaceOrder.
	PlaceOrderOnce(ctx context.Context, tenantID int64, o Once[NewOrder, Order]) (Answered, error)
}
