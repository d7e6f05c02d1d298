package events

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Event is what a tenant used in an hour under an assignment, or a correction of it.
type Event struct {
	// Source is the database's ID. It tells apart the events of two deployments with the same
	// receiver.
	Source   uuid.UUID
	TenantID int64
	Tenant   string
	// BillingRef is the receiver's name for the tenant; empty for none.
	BillingRef string
	// Hour is the UTC hour of the requests, At the hour in which the receiver counts them. They
	// differ for a correction of a closed month, which counts when it arrived.
	Hour, At   time.Time
	Assignment int64
	// Began is when the assignment began, but not before the tenant was created.
	Began time.Time
	// Version is the latest version of the plan under which requests of the hour were counted.
	Version           int64
	Plan              string
	Admitted, Refused int64
	// Overage is the part of Admitted above the included number of the month. In a correction it is
	// the difference, also if the other counts are 0.
	Overage int64
	// Correction is 0 for the first event of a tenant, an hour and an assignment, and grows by one
	// with each event that corrects it. A correction has the difference to the sum of the earlier
	// events, which may be negative.
	Correction int64
	// ByDay is true if the event stands for all hours that were summed into days.
	ByDay bool
}

// ID is a UUID of version 5: the SHA-1 of the source and of what the event counts.
func (f Format) ID(e Event) uuid.UUID {
	name := fmt.Appendf(nil, "%d/%s/%d/%d", e.TenantID, e.Hour.UTC().Format(time.RFC3339), e.Assignment, e.Correction)
	if f == StripeOverage {
		name = append(name, "/overage"...)
	}
	return uuid.NewSHA1(e.Source, name)
}

// Time is the instant for the receiver, in whole seconds: the first second of the hour At that is
// within the assignment. A receiver that counts from the second in which a subscription began would
// not bill an earlier instant. If clocks disagree so that there is none, Time is the last second of
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
