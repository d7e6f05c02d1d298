package usage

import (
	"context"
	"errors"
	"time"
)

// ErrFailedNotFound: no failed request with that ID is stored for the tenant.
var ErrFailedNotFound = errors.New("no such failed request")

// FailedFor is how far back a tenant's failed requests are shown.
const FailedFor = 24 * time.Hour

// FailedReader reads failed requests for their tenant, and never those of another one.
type FailedReader interface {
	// ListFailed returns a page of failed requests, and whether more follow. It returns
	// ErrUnavailable if the store is down.
	ListFailed(ctx context.Context, tenantID int64, p FailedPage) (list []FailedRequest, more bool, err error)
	// GetFailed returns the latest failed request with that ID since an instant. It returns
	// ErrFailedNotFound if there is none, and ErrUnavailable if the store is down.
	GetFailed(ctx context.Context, tenantID int64, id string, since, now time.Time) (FailedDetail, error)
	// ReplayHours returns the tenant's hours of the last ReplayDays with requests. It returns
	// ErrUnavailable if the store is down.
	ReplayHours(ctx context.Context, tenantID int64, now time.Time) ([]Hour, error)
}

// FailedPage selects failed requests, the newest first.
type FailedPage struct {
	// Since is their first instant, Until the first after them.
	Since, Until time.Time
	// KeyID is "" for any, Kinds nil.
	KeyID string
	Kinds []FailedKind
	// After is the Cursor of the last one of the page before, 0 for the first page.
	After int64
	Limit int
}

// FailedKind is a status with a code that has it.
type FailedKind struct {
	Status int
	Code   string
}

// cursorBits is how much of a request's number its cursor has.
const cursorBits = 10

// Cursor says where the request stands among those of its tenant: its microsecond, and the end of
// its number for those of the same microsecond.
func (f *FailedRequest) Cursor() int64 {
	return f.At.UnixMicro()<<cursorBits | f.Number&(1<<cursorBits-1)
}

// Before returns where the page begins: at an instant before this one, or at it with a smaller end
// of the number than low.
func (p *FailedPage) Before() (at time.Time, low int64) {
	if after := time.UnixMicro(p.After >> cursorBits); p.After > 0 && after.Before(p.Until) {
		return after, p.After & (1<<cursorBits - 1)
	}
	return p.Until, 0
}

// FailedDetail is a failed request with what explains it.
type FailedDetail struct {
	FailedRequest
	// LiftedAt is when the ban was lifted that refused it, BannedUntil when a ban of its key that
	// is in force ends. They may be zero.
	LiftedAt, BannedUntil time.Time
	// FullUntil is when the window resets that refused the key last before a ban refused this
	// request, zero if none is known.
	FullUntil time.Time
	// RefusedBy is nil if no window refused it.
	RefusedBy *RefusingWindow
	// Hours are the tenant's of the last ReplayDays with requests, if a window refused it that its
	// keys share.
	Hours []Hour
}

// RefusingWindow is a window that refused a request, and what each key used from From up to To, the
// most first: in the window, or in the whole hours around a minute of which that is not known any
// more.
type RefusingWindow struct {
	Name  string      `json:"name"`
	Limit int64       `json:"limit"`
	From  time.Time   `json:"from"`
	To    time.Time   `json:"to"`
	Used  []UsedByKey `json:"used"`
}

// UsedByKey is how many requests of a key were admitted. Name is empty if the key has none, or was
// removed.
type UsedByKey struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Admitted int64  `json:"admitted"`
}

// ReplayDays is how many UTC days are replayed under larger plans, with today.
const ReplayDays = 30

// Refusals returns how many requests of these hours were refused, and how many would be under other
// limits of the tenant, at least.
func Refusals(hours []Hour, perMinute, perDay int64) (refused, remain int64) {
	for _, d := range Replay(hours, perMinute, perDay) {
		refused += d.Refused
		remain += min(d.Refused, d.ByKeys+d.ByDay+d.ByMinute)
	}
	return refused, remain
}
