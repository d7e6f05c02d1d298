package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
)

// MaxPendingPings is how many pings a tenant may send to pending endpoints in an hour.
const MaxPendingPings = 20

// Errors of a tenant's own requests, besides those of keys about who asks.
var (
	ErrNotFound         = errors.New("there is no such endpoint")
	ErrDeliveryNotFound = errors.New("there is no such delivery")
	// ErrChanged: the endpoint's version is not the one that the change requires.
	ErrChanged = errors.New("the endpoint has changed")
	// ErrTooMany: the tenant has MaxEndpoints.
	ErrTooMany = errors.New("the tenant has as many endpoints as it may")
	// ErrDisabled: nothing is sent to the endpoint.
	ErrDisabled = errors.New("the endpoint is disabled")
	// ErrManyPings: the tenant has sent MaxPendingPings to pending endpoints within an hour.
	ErrManyPings = errors.New("the tenant has sent as many pings as it may")
)

// AlreadyAddedError means that a request with the same idempotency key has added an endpoint, whose
// secret can't be shown again.
type AlreadyAddedError struct{ ID int64 }

// Error implements error.
func (e *AlreadyAddedError) Error() string { return "the endpoint was added already" }

// Requester is who asks for its own endpoints: a key that may manage keys, or a sign-in.
type Requester struct {
	TenantID int64
	Digest   keys.Digest
}

// Seal encrypts a new secret for the endpoint with the ID.
type Seal func(id int64) Sealed

// Replay selects events to send again: those that had no success, or all.
type Replay struct {
	// Since and Until are zero for no bound. Types is empty for all that the endpoint asks for.
	Since, Until time.Time
	Types        []string
	All          bool
}

// SentDelivery is a delivery as its tenant sees it.
type SentDelivery struct {
	ID        int64
	EventID   uuid.UUID
	Type      string
	CreatedAt time.Time
	// Status is waiting, delivered, failed or dropped. DueAt is zero unless it waits for an attempt.
	Status string
	DueAt  time.Time
	// Attempts are those so far, the oldest first.
	Attempts []Attempt
}

// Attempt is an attempt at a delivery.
type Attempt struct {
	At   time.Time
	Took time.Duration
	// Status, Answer and Said are those of Result.
	Status int
	Answer []byte
	Said   string
}

// Customers are the endpoints of tenants, for the tenants themselves. Each method returns an error
// of keys if the requester may not, and ErrNotFound for an endpoint that it does not see.
type Customers interface {
	// List returns the endpoints, the newest first.
	List(ctx context.Context, by Requester) ([]Endpoint, error)
	Get(ctx context.Context, by Requester, id int64) (Endpoint, error)
	// Create adds an endpoint, with once only once: a repetition gets an AlreadyAddedError.
	Create(ctx context.Context, by Requester, n NewEndpoint, seal Seal, once *catalog.Idempotency) (Endpoint, error)
	// Update changes an endpoint that has the version, 0 for any.
	Update(ctx context.Context, by Requester, id, version int64, p EndpointPatch) (Endpoint, error)
	Delete(ctx context.Context, by Requester, id int64) error
	// Rotate adds a secret. Those that sign now go on for grace, unless they end earlier.
	Rotate(ctx context.Context, by Requester, id int64, grace time.Duration, seal Seal) (Endpoint, error)
	// Test queues a ping before all else.
	Test(ctx context.Context, by Requester, id int64) (SentDelivery, error)
	// Deliveries returns up to limit deliveries, the newest first: those before the ID, 0 for none.
	Deliveries(ctx context.Context, by Requester, id, before int64, limit int) ([]SentDelivery, error)
	// Retry makes a delivery due now.
	Retry(ctx context.Context, by Requester, id, delivery int64) (SentDelivery, error)
	// Replay queues deliveries, and returns how many.
	Replay(ctx context.Context, by Requester, id int64, r Replay) (int64, error)
}
