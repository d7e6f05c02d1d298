package usage

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable: the store can't be reached or did not answer in time; trying again later helps. Stores wrap it, so
// compare with errors.Is.
var ErrUnavailable = errors.New("usage store unavailable")

// Bucket is what requests are counted by.
type Bucket struct {
	TenantID int64
	KeyID    string
	// Plan is the name of the tenant's plan when the request was decided.
	Plan string
	// Hour is the start of a UTC hour in Unix seconds.
	Hour int64
}

// Count is what is added to a bucket. Admitted is negative when requests of an earlier batch were given back.
type Count struct {
	Bucket
	Admitted int64
	Refused  int64
}

// KeyUse says when a key was last used.
type KeyUse struct {
	KeyID string
	At    time.Time
}

// Batch is what one server counted since its batch before.
type Batch struct {
	// ServerID names the process that counted.
	ServerID string
	// Number grows from batch to batch of a server, also over its restarts.
	Number int64
	// Counts has at most one element per bucket, LastUsed at most one per key.
	Counts   []Count
	LastUsed []KeyUse
}

// Store records usage.
type Store interface {
	// WriteUsage adds the batch, all of it or, after an error, nothing. A batch of a number that the server's last
	// written batch has reached is left out and is no error. It returns ErrUnavailable when the store is.
	WriteUsage(ctx context.Context, b Batch) error
}
