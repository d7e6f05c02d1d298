package usage

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/plans"
)

// ErrFailedNotFound: no failed request with that ID is stored for the tenant.
var ErrFailedNotFound = errors.New("no such failed request")

// FailedFor is how far back a tenant's failed requests are shown.
const FailedFor = 24 * time.Hour

// FailedReader reads a tenant's own failed requests.
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
	// Since is their first instant, Until the first instant after them.
	Since, Until time.Time
	// KeyID selects the requests of one key, "" for all. Kinds selects kinds, nil for all.
	KeyID string
	Kinds []FailedKind
	// After is the Cursor of the last request of the page before, 0 for the first page.
	After int64
	Limit int
}

// FailedKind is a status, with one of its codes.
type FailedKind struct {
	Status int
	Code   string
}

// cursorBits is how many bits of a request's number are in its cursor.
const cursorBits = 10

// Cursor is the request's position among its tenant's requests: its microsecond, and the last bits
// of its number, which tell requests of the same microsecond apart.
func (f *FailedRequest) Cursor() int64 {
	return f.At.UnixMicro()<<cursorBits | f.Number&(1<<cursorBits-1)
}

// Before returns where the page begins. The page has the requests before at, and those in at's
// microsecond whose last bits are below low.
func (p *FailedPage) Before() (at time.Time, low int64) {
	if after := time.UnixMicro(p.After >> cursorBits); p.After > 0 && after.Before(p.Until) {
		return after, p.After & (1<<cursorBits - 1)
	}
	return p.Until, 0
}

// FailedDetail is a failed request with its explanation.
type FailedDetail struct {
	FailedRequest
	// LiftedAt is when the ban that refused it was lifted. BannedUntil is when a ban in force on
	// its key ends. They may be zero.
	LiftedAt, BannedUntil time.Time
	// FullUntil is set if a ban refused this request: it is the reset of the window that refused
	// the key last before the ban. It is zero if unknown.
	FullUntil time.Time
	// RefusedBy is nil if no window refused it.
	RefusedBy *RefusingWindow
	// Hours are the tenant's hours with requests in the last ReplayDays, if a window that its keys
	// share refused the request.
	Hours []Hour
}

// RefusingWindow is a window that refused a request, and each key's use from From up to To, the
// greatest first. From and To are the window or, if the use in it is no longer known, the whole
// hours around its minute.
type RefusingWindow struct {
	Name  string      `json:"name"`
	Limit int64       `json:"limit"`
	From  time.Time   `json:"from"`
	To    time.Time   `json:"to"`
	Used  []UsedByKey `json:"used"`
}

// UsedByKey is the number of a key's admitted requests. Name is empty if the key has none, or was
// removed.
type UsedByKey struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Admitted int64  `json:"admitted"`
}

// ReplayDays is the number of UTC days that are replayed under larger plans, including today.
const ReplayDays = 30

// Refusals returns how many requests of these hours were refused, and the least number that would
// be refused under the given limits of the tenant.
func Refusals(hours []Hour, limits plans.Quota) (refused, remain int64) {
	for _, d := range Replay(hours, limits) {
		refused += d.Refused
		remain += min(d.Refused, d.ByKeys+d.Least())
	}
	return refused, remain
}
