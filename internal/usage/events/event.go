package events

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Event is what a tenant used in an hour under an assignment, or a correction of it.
type Event struct {
	// Source is the database's. It keeps the events of two deployments apart that hand on to one
	// receiver.
	Source   uuid.UUID
	TenantID int64
	Tenant   string
	// BillingRef is the receiver's name for the tenant; empty for none.
	BillingRef string
	// Hour is the UTC hour of the requests, At the hour to which the receiver counts them. They
	// differ for a correction of a closed month: it counts when it arrived.
	Hour, At   time.Time
	Assignment int64
	// Began is when the assignment began, and so not before the tenant did.
	Began time.Time
	// Version is the latest version of the plan under which requests of the hour were counted.
	Version           int64
	Plan              string
	Admitted, Refused int64
	// Correction is 0 for the first event of a tenant, an hour and an assignment, and grows by one
	// with each event that corrects it. A correction has the difference to the sum of those before,
	// which may be negative.
	Correction int64
}

// ID is a UUID of version 5: the SHA-1 of the source and of what the event counts.
func (e Event) ID() uuid.UUID {
	return uuid.NewSHA1(
		e.Source,
		fmt.Appendf(nil, "%d/%s/%d/%d", e.TenantID, e.Hour.UTC().Format(time.RFC3339), e.Assignment, e.Correction),
	)
}

// Time is the instant that the receiver gets, in whole seconds: the first second of the hour At, or
// the first one that is within the assignment. A receiver that counts from the second in which a
// subscription began would not bill what is before it. If clocks differ it is the last second of
// the hour.
func (e Event) Time() time.Time {
	at := e.At.UTC()
	if !e.Began.After(at) {
		return at
	}
	began := e.Began.UTC().Add(time.Second - 1).Truncate(time.Second)
	if last := at.Add(time.Hour - time.Second); began.After(last) {
		return last
	}
	return began
}
