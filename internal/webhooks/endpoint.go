package webhooks

import (
	"time"

	"petstore.example/internal/keys"
)

// MaxEndpoints is how many endpoints a tenant may have.
const MaxEndpoints = 5

// Slots is how many requests may be in flight to an endpoint, over all servers.
const Slots = 2

// Status says whether events are sent to an endpoint.
type Status string

// The statuses of an endpoint.
const (
	// Pending: no ping was answered yet. Only pings are sent.
	Pending Status = "pending"
	Enabled Status = "enabled"
	// Disabled: events are kept and not sent.
	Disabled Status = "disabled"
)

// Endpoint is where a tenant wants to be told of events.
type Endpoint struct {
	ID          int64
	TenantID    int64
	Environment keys.Environment
	// URL is as CheckURL returns it.
	URL string
	// Events are types of events; AllEvents stands for all but those of pets and orders.
	Events      []string
	Description string
	Status      Status
	// DisabledReason is "" unless the status is Disabled.
	DisabledReason string
	// FailingSince is when the first of the failures began since which nothing succeeded; zero for
	// none.
	FailingSince time.Time
	CreatedAt    time.Time
	// Version grows with each change that a customer or staff makes.
	Version int64
}

// Dead reports whether the tenant is told that the endpoint fails, or was disabled for it.
func (e Endpoint) Dead(now time.Time) bool {
	switch e.Status {
	case Enabled:
		return !e.FailingSince.IsZero() && now.Sub(e.FailingSince) >= 24*time.Hour
	case Disabled:
		return e.DisabledReason == "gone" || e.DisabledReason == "failures"
	}
	return false
}

// NewEndpoint is what a tenant gives for an endpoint.
type NewEndpoint struct {
	URL         string
	Events      []string
	Description string
}

// EndpointPatch changes the fields that are not nil.
type EndpointPatch struct {
	URL         *string
	Events      *[]string
	Description *string
	Enabled     *bool
}
