package usage

import (
	"context"
	"time"
)

const (
	// RefusalsPerKey is how many refusals of a key are kept, the latest.
	RefusalsPerKey = 50
	// RefusalAge is how long a refusal is kept.
	RefusalAge = 24 * time.Hour
)

// Refusal is a request of a known key that the platform decided to refuse: what support is asked about.
type Refusal struct {
	At        time.Time
	RequestID string
	TenantID  int64
	KeyID     string
	// Code is that of the answer's body, for example "rate_limit_exceeded".
	Code string
	Plan string
	// Window is the name of the limit that refused, minute, day or key; Limit is its number. They are "" and 0 where none did,
	// as for a ban.
	Window string
	Limit  int64
	// Reset is when a request passes again, in Unix seconds, 0 for never.
	Reset int64
	// Partial is true when the server decided alone, over its share of the limit.
	Partial bool
	// Method is the request's and Route the pattern of its path, "" where there was none: never what the client wrote.
	Method, Route string
}

// RefusalRecord is a refusal as it is kept.
type RefusalRecord struct {
	Refusal
	// ServerID and Number name it: numbers of a server grow.
	ServerID string
	Number   int64
	// Suppressed is how many more refusals of the key the server decided before this one, since the one it kept before.
	Suppressed int64
}

// RefusalStore keeps refusals.
type RefusalStore interface {
	// WriteRefusals adds refusals, all of them or, after an error, none, and removes all but the latest RefusalsPerKey of
	// their keys. One of a server and number that is kept already is left out, as are those of keys that are no more. It
	// returns ErrUnavailable when the store is.
	WriteRefusals(ctx context.Context, refusals []RefusalRecord) error
}
