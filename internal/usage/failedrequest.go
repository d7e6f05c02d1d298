package usage

import (
	"context"
	"time"
)

const (
	// FailedPerHour is how many failed requests of a key are kept of each hour: so many that a
	// limit or a ban refused, and so many others. A flood of 429s does not push out the one request
	// that failed otherwise.
	FailedPerHour = 50
)

// FailedRequest is a request whose response had a status of 400 or more. Of what the client sent it
// has the request ID and nothing else.
type FailedRequest struct {
	At time.Time
	// Took is how long the server worked on it.
	Took      time.Duration
	RequestID string
	// TenantID and KeyID are 0 and "" if the request had no key that exists.
	TenantID int64
	KeyID    string
	Status   int
	// Code is the error code of the response, for example "rate_limit_exceeded".
	Code string
	// Reason says more than the code: see the constants of this package. Customers are told it only
	// of a key that exists.
	Reason string
	// Plan is "" for a request without a valid key.
	Plan string
	// Window is the window that refused: minute, day, key or ip. Limit is its limit. They are ""
	// and 0 if none did.
	Window string
	Limit  int64
	// Reset is when requests are admitted again, in Unix seconds, 0 for never.
	Reset int64
	// Partial is true if the server decided over its share of the limit.
	Partial bool
	// Method is the request's, and Route the pattern of its path, "" for none. Neither is text from
	// the client.
	Method, Route string

	// ServerID and Number identify it. The numbers of a server grow. FailedRequests sets them.
	ServerID string
	Number   int64
	// Suppressed is how many failed requests of the key this server did not keep, since the one
	// kept before.
	Suppressed int64
}

// Reasons of a FailedRequest. A key that exists also has its status: revoked, expired or
// tenant_suspended.
const (
	// The 401s of a key of which nothing is stored.
	OtherScheme      = "other_scheme"
	SeveralHeaders   = "several_headers"
	Malformed        = "malformed"
	OtherEnvironment = "other_environment"
	UnknownKey       = "unknown_key"
	// The 503s.
	DatabaseDown    = "database"
	LimitsUndecided = "limits_undecided"
	UsageUnrecorded = "usage_unrecorded"
	BodiesFull      = "bodies_full"
	TimedOut        = "timed_out"
	// Uncounted: too many requests that count in no window, such as changes of keys.
	Uncounted = "uncounted"
	// ClientGone: the client closed the connection before the response.
	ClientGone = "client_gone"
)

// FailedStore keeps failed requests.
type FailedStore interface {
	// WriteFailed adds all or, after an error, none, and keeps the latest FailedPerHour of each key
	// and hour. It skips those whose server and number exist, and those whose key is gone. It
	// returns ErrUnavailable if the store is down.
	WriteFailed(ctx context.Context, failed []FailedRequest) error
}
