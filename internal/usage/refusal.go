package usage

import (
	"context"
	"time"
)

const (
	// RefusalsPerKey is how many refusals of a key are kept.
	RefusalsPerKey = 50
	// RefusalAge is how long refusals are kept.
	RefusalAge = 24 * time.Hour
)

// Refusal is a request of a known key that was refused by a ban or a limit.
type Refusal struct {
	At        time.Time
	RequestID string
	TenantID  int64
	KeyID     string
	// Code is the error code of the response, for example "rate_limit_exceeded".
	Code string
	Plan string
	// Window is the window that refused: minute, day or key. Limit is its limit. They are "" and 0 for a ban.
	Window string
	Limit  int64
	// Reset is when requests are admitted again, in Unix seconds, 0 for never.
	Reset int64
	// Partial is true if the server decided over its share of the limit.
	Partial bool
	// Method is the request's, and Route the pattern of its path, "" for none. Neither is text from the
	// client.
	Method, Route string
}

// RefusalRecord is a refusal that is kept for support.
type RefusalRecord struct {
	Refusal
	// ServerID and Number identify it. The numbers of a server grow.
	ServerID string
	Number   int64
	// Suppressed is how many refusals of the key by this server were not kept, since the record before.
	Suppressed int64
}

// RefusalStore keeps refusals.
type RefusalStore interface {
	// WriteRefusals adds all refusals or, after an error, none, and keeps the latest RefusalsPerKey of each
	// key. It skips those whose server and number exist, and those whose key is gone. It returns
	// ErrUnavailable if the store is down.
	WriteRefusals(ctx context.Context, refusals []RefusalRecord) error
}
