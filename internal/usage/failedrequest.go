package usage

import (
	"context"
	"time"
)

const (
	// FailedPerHour is how many of a key's failed requests are kept for each hour: this many that a
	// limit or a ban refused, and this many others. So a flood of 429s does not push out the one
	// request that failed otherwise.
	FailedPerHour = 50
)

// FailedRequest is a request whose response had a status of 400 or more. The request ID is the only
// client text in it.
type FailedRequest struct {
	At time.Time
	// Took is how long the server worked on the request.
	Took      time.Duration
	RequestID string
	// TenantID and KeyID are 0 and "" if the request had no existing key.
	TenantID int64
	KeyID    string
	Status   int
	// Code is the error code of the response, for example "rate_limit_exceeded".
	Code string
	// Reason says more than the code: see the constants of this package. Customers see it only for
	// an existing key.
	Reason string
	// Plan is "" for a request without a valid key.
	Plan string
	// Window is the refusing window: minute, day, key or ip. Limit is its limit. They are "" and 0
	// if no window refused the request.
	Window string
	Limit  int64
	// Reset is when requests are admitted again, in Unix seconds, 0 for never.
	Reset int64
	// Partial is true if the server decided by its share of the limit.
	Partial bool
	// Method is the request's method, Route the pattern of its path, "" for none. Neither is text
	// from the client.
	Method, Route string

	// ServerID and Number identify the record. A server's numbers grow. FailedRequests sets both.
	ServerID string
	Number   int64
	// Suppressed is the number of the key's failed requests that this server did not keep since the
	// last kept one.
	Suppressed int64
}

// The reasons of a FailedRequest. The reasons for an existing key include its status: revoked,
// expired or tenant_suspended.
const (
	// The reasons of a 401 for an unknown key.
	OtherScheme      = "other_scheme"
	SeveralHeaders   = "several_headers"
	Malformed        = "malformed"
	OtherEnvironment = "other_environment"
	UnknownKey       = "unknown_key"
	// The reasons of a 503.
	DatabaseDown    = "database"
	LimitsUndecided = "limits_undecided"
	UsageUnrecorded = "usage_unrecorded"
	BodiesFull      = "bodies_full"
	TimedOut        = "timed_out"
	// Uncounted: there are too many requests that count in no window, such as changes of keys.
	Uncounted = "uncounted"
	// ClientGone: the client closed the connection before the response.
	ClientGone = "client_gone"
)

// FailedStore keeps failed requests.
type FailedStore interface {
	// WriteFailed adds all requests or, after an error, none, and keeps the latest FailedPerHour of
	// each key and hour. It skips requests whose server and number exist, and requests whose key is
	// gone. It returns ErrUnavailable if the store is down.
	WriteFailed(ctx context.Context, failed []FailedRequest) error
}
