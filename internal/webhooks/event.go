package webhooks

import (
	"errors"
	"fmt"
	"slices"
)

// AllEvents stands for all types of events but those of pets and orders.
const AllEvents = "*"

// Types are the types of events that an endpoint can ask for.
var Types = []string{
	"key.issued", "key.rotated", "key.revoked", "key.banned", "key.unbanned", "key.expiring",
	"plan.changed", "plan.changing", "quota.threshold_reached", "month.closed",
	"endpoint.failing", "endpoint.disabled", "tenant.suspended", "tenant.resumed",
	"pet.created", "pet.updated", "order.created", "order.updated",
}

// Types of events that every endpoint gets.
const (
	Ping          = "ping"
	EventsDropped = "events.dropped"
)

// Errors of CheckEvents.
var (
	ErrNoEvents = errors.New(`name at least one type of event, or "*"`)
	ErrTwice    = errors.New("a type of event is named twice")
)

// UnknownTypeError is a type of event that there is not.
type UnknownTypeError string

// Error implements error.
func (e UnknownTypeError) Error() string {
	return fmt.Sprintf("there is no type of event %q", string(e))
}

// CheckEvents checks the events that an endpoint asks for.
func CheckEvents(events []string) error {
	seen := map[string]bool{}
	for _, e := range events {
		switch {
		case e != AllEvents && !slices.Contains(Types, e):
			return UnknownTypeError(e)
		case seen[e]:
			return ErrTwice
		}
		seen[e] = true
	}
	if len(events) == 0 {
		return ErrNoEvents
	}
	return nil
}
