package usage

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable: the store is down or did not answer in time; a later retry helps. Stores wrap it,
// so compare with errors.Is.
var ErrUnavailable = errors.New("usage store unavailable")

// Bucket is the key by which requests are counted.
type Bucket struct {
	TenantID int64
	KeyID    string
	// Assignment and Version are the tenant's assignment and its plan's version under which the
	// request was decided.
	Assignment int64
	Version    int
	// Hour is the start of a UTC hour in Unix seconds.
	Hour int64
}

// in is the bucket in the hour of that instant.
func (b Bucket) in(at time.Time) Bucket {
	b.Hour = at.Unix() / 3600 * 3600
	return b
}

// Count is added to a bucket. Admitted is negative if requests of an earlier batch were refunded.
type Count struct {
	Bucket
	Admitted int64
	Refused  int64
	Minutes
}

// Minutes says how many of a bucket's admitted requests were in its latest minute and in the one
// before. They must be known in case the server ends silently: these may be the last windows that
// it used.
type Minutes struct {
	// Minute is the number of the tenant's latest minute, InMinute its requests, and InPrevious
	// those of the minute before.
	Minute, InMinute, InPrevious int64
}

// add adds admitted requests of a minute. It forgets minutes before the latest two.
func (m *Minutes) add(minute, admitted int64) {
	switch {
	case minute == m.Minute:
		m.InMinute += admitted
	case minute == m.Minute-1:
		m.InPrevious += admitted
	case minute == m.Minute+1:
		*m = Minutes{Minute: minute, InMinute: admitted, InPrevious: m.InMinute}
	case minute > m.Minute:
		*m = Minutes{Minute: minute, InMinute: admitted}
	}
}

// KeyUse says when a key was last used.
type KeyUse struct {
	KeyID string
	At    time.Time
}

// Batch is what one server counted since its last batch.
type Batch struct {
	// ServerID identifies the process that counted.
	ServerID string
	// Number grows from batch to batch of a server, even across restarts.
	Number int64
	// Counts has at most one element per bucket, LastUsed at most one per key.
	Counts   []Count
	LastUsed []KeyUse
	// DeliveredTo is an instant: with this batch, all requests that the server admitted or refused
	// before it are recorded. It is zero if unknown, as in each batch of a write except the last.
	DeliveredTo time.Time
}

// Refusal says that a window has refused a request because it was used up: more than what is recorded
// of it may have been admitted.
type Refusal struct {
	TenantID int64
	// Window is day or month.
	Window string
	// Reset is when the window ends, in Unix seconds.
	Limit, Reset int64
	// Assignment and Version are those by which the request was decided. The refusals of each are
	// told: when those of another were, this limit may not have been in force.
	Assignment int64
	Version    int
}

// Store records usage.
type Store interface {
	// WriteUsage adds all of the batch or, after an error, nothing. It skips, without an error, a
	// batch whose number is not above the server's last one. It returns ErrUnavailable if the store
	// is down.
	WriteUsage(ctx context.Context, b Batch) error
	// TellRefusals tells the tenants' webhooks, each once.
	TellRefusals(ctx context.Context, refusals []Refusal) error
	// EndUsage records that the server has recorded everything and writes no more. A server without
	// this record has ended silently.
	EndUsage(ctx context.Context, serverID string) error
}
