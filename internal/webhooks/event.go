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

// CheckEvents checks the events that an endpoint asks for. The error is for those who ask.
func CheckEvents(events []string) error {
	for i, e := range events {
		switch {
		case e != AllEvents && !slices.Contains(Types, e):
			return fmt.Errorf("there is no type of event %q", e)
		case slices.Contains(events[:i], e):
			return errors.New("a type of event is named twice")
		}
	}
	if len(events) == 0 {
		return errors.New(`name at least one type of event, or "*"`)
	}
	return nil
}
