package webhooks

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Outbox is what a Deliverer needs of the database. A holder is one run of a server.
type Outbox interface {
	// Claim leases what is due for 30 s: at most healthy batches of endpoints that answer, and at
	// most failing ones, of one delivery each, of endpoints that don't. It returns only batches
	// whose secrets are sealed with one of the keys. A batch is one slot of its endpoint.
	Claim(ctx context.Context, holder uuid.UUID, keyIDs []string, healthy, failing int) ([]Batch, error)
	// Finish stores results and frees the slots that the holder still has. It stores all or none.
	Finish(ctx context.Context, holder uuid.UUID, results []Result) error
	// Report stores which keys a server has, none if webhooks are off, and why its relay of mail fails:
	// "" if it works, nil if it has none. It returns the Backlog.
	Report(ctx context.Context, holder uuid.UUID, keyIDs []string, relay *string) (Backlog, error)
	// Tell adds the events that time makes, such as that a key will end.
	Tell(ctx context.Context) error
	// Stale returns up to limit secrets that are sealed with one of the later keys instead of the
	// first.
	Stale(ctx context.Context, keyIDs []string, limit int) ([]StoredSecret, error)
	// Reseal replaces a secret by the same one sealed anew, unless it has changed.
	Reseal(ctx context.Context, old StoredSecret, sealed Sealed) error
	// Prune removes what is no longer kept, and cuts backlogs that are too long.
	Prune(ctx context.Context) error
}

// Backlog is what the outbox holds.
type Backlog struct {
	// Endpoints are those that are not disabled.
	Endpoints int64
	// Disabled are the endpoints that failures have disabled.
	Disabled int64
	// Waiting are the deliveries that are due.
	Waiting int64
	// Oldest is for how long the oldest of them has been due.
	Oldest time.Duration
	// Held are those that a restore holds until staff resume them, mails included.
	Held int64
	// Addresses are those of tenants, Mails what waits for them.
	Addresses, Mails int64
	// OldestMail is the age of the oldest of these that no relay has taken or put off.
	OldestMail time.Duration
}

// KeyReport is which keys the servers have and the secrets need, for doctor.
type KeyReport struct {
	// Servers are the keys of each server that reported within the last minute.
	Servers map[uuid.UUID][]string
	// Secrets is how many secrets of endpoints are sealed with a key, by its ID.
	Secrets map[string]int64
}

// Batch is a slot of an endpoint, with the deliveries to be made in order.
type Batch struct {
	EndpointID int64
	Slot       int
	// Failing: the last attempt at the endpoint failed.
	Failing bool
	URL     string
	// Secrets are those to sign with, the newest first: two within the grace period of a rotation.
	Secrets    []Sealed
	Deliveries []Delivery
}

// Sealed is an encrypted secret. It can be opened only as that of the same endpoint.
type Sealed struct {
	KeyID      string
	Ciphertext []byte
}

// StoredSecret is a secret of an endpoint.
type StoredSecret struct {
	EndpointID int64
	Sealed
}

// Delivery is an event on its way to an endpoint.
type Delivery struct {
	ID int64
	// Attempt is 1 for the first.
	Attempt int
	EventID uuid.UUID
	Type    string
	// Body is sent as it is stored, so that each attempt sends the same bytes.
	Body []byte
}

// Outcome is what came of a delivery.
type Outcome string

// The outcomes of a delivery.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"
	// Gone: the answer was 410, which disables the endpoint.
	Gone Outcome = "gone"
	// Returned: nothing was sent, or we cut it off. It is no attempt and is due again after
	// RetryAfter.
	Returned Outcome = "returned"
)

// Result is what came of a claimed delivery.
type Result struct {
	DeliveryID, EndpointID int64
	Slot, Attempt          int
	At                     time.Time
	Took                   time.Duration
	// Status is 0 if there was no answer.
	Status int
	// Answer is the beginning of the answer's body, at most 256 bytes of anything.
	Answer []byte
	// Said is why the attempt failed, in our words, "" if the status says it. It names no address.
	Said    string
	Outcome Outcome
	// RetryAfter is the least time until the next attempt, 0 for none.
	RetryAfter time.Duration
	// Last: it is the last result of its batch, so the slot becomes free.
	Last bool
}
