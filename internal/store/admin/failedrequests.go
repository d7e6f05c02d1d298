package admin

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

// FailedRequests stores some of the failed requests, for a day.
type FailedRequests struct{ db *pgconn.DB }

var _ usage.FailedStore = FailedRequests{}

// WriteFailed implements usage.FailedStore.
func (d FailedRequests) WriteFailed(ctx context.Context, failed []usage.FailedRequest) (err error) {
	defer pgconn.Wrap(&err, "store failed requests")
	n := len(failed)
	tenants, numbers, micros, tooks := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	statuses, limits, resets, suppressed := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	partial, servers, keyIDs, requests := make([]bool, n), make([]string, n), make([]string, n), make([]string, n)
	codes, reasons, plans := make([]string, n), make([]string, n), make([]string, n)
	windows, methods, routes := make([]string, n), make([]string, n), make([]string, n)
	for i, f := range failed {
		tenants[i], numbers[i], micros[i], tooks[i] = f.TenantID, f.Number, f.At.UnixMicro(), f.Took.Microseconds()
		statuses[i], limits[i], resets[i], suppressed[i] = int64(f.Status), f.Limit, f.Reset, f.Suppressed
		partial[i], servers[i], keyIDs[i], requests[i] = f.Partial, f.ServerID, f.KeyID, f.RequestID
		codes[i], reasons[i], plans[i] = f.Code, f.Reason, f.Plan
		windows[i], methods[i], routes[i] = f.Window, f.Method, f.Route
	}
	_, err = d.db.Exec(
		ctx,
		`select add_failed_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		pq.Array(tenants),
		pq.Array(servers),
		pq.Array(numbers),
		pq.Array(keyIDs),
		pq.Array(micros),
		pq.Array(tooks),
		pq.Array(requests),
		pq.Array(statuses),
		pq.Array(codes),
		pq.Array(reasons),
		pq.Array(plans),
		pq.Array(windows),
		pq.Array(limits),
		pq.Array(resets),
		pq.Array(partial),
		pq.Array(methods),
		pq.Array(routes),
		pq.Array(suppressed),
	)
	return err
}

// Prune removes at most limit failed requests and returns their number: those from before the
// instant, and strangers' beyond the latest 10,000. Others of the last day stay.
func (d FailedRequests) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	defer pgconn.Wrap(&err, "remove old failed requests")
	err = d.db.Get(ctx, &removed, `select prune_failed_requests($1, $2)`, before, limit)
	return removed, err
}

type failedRow struct {
	TenantID   sql.NullInt64  `db:"tenant_id"`
	ServerID   string         `db:"server_id"`
	Number     int64          `db:"number"`
	KeyID      sql.NullString `db:"key_id"`
	At         time.Time      `db:"at"`
	TookMicros int64          `db:"took_micros"`
	RequestID  string         `db:"request_id"`
	Status     int            `db:"status"`
	Code       string         `db:"code"`
	Reason     string         `db:"reason"`
	Plan       string         `db:"plan"`
	LimitedBy  string         `db:"limited_by"`
	Allowed    int64          `db:"allowed"`
	Reset      int64          `db:"reset"`
	Partial    bool           `db:"partial"`
	Method     string         `db:"method"`
	Route      string         `db:"route"`
	Suppressed int64          `db:"suppressed"`
}

func (r failedRow) failedRequest() usage.FailedRequest {
	return usage.FailedRequest{
		At:         r.At.UTC(),
		Took:       time.Duration(r.TookMicros) * time.Microsecond,
		RequestID:  r.RequestID,
		TenantID:   r.TenantID.Int64,
		KeyID:      r.KeyID.String,
		Status:     r.Status,
		Code:       r.Code,
		Reason:     r.Reason,
		Plan:       r.Plan,
		Window:     r.LimitedBy,
		Limit:      r.Allowed,
		Reset:      r.Reset,
		Partial:    r.Partial,
		Method:     r.Method,
		Route:      r.Route,
		ServerID:   r.ServerID,
		Number:     r.Number,
		Suppressed: r.Suppressed,
	}
}

const failedColumns = `tenant_id, server_id, number, key_id, at, took_micros, request_id, status, code, reason, plan,
  limited_by, allowed,
	coalesce(extract(epoch from resets_at)::bigint, 0) as reset, partial, method, route, suppressed`

// OfKey returns the latest stored failed requests of the key, the newest first.
func (d FailedRequests) OfKey(
	ctx context.Context,
	tenantID int64,
	keyID string,
	limit int,
) ([]usage.FailedRequest, error) {
	return d.list(ctx, ` where tenant_id = $1 and key_id = $2 order by at desc, number desc limit $3`,
		tenantID, keyID, limit)
}

// OfTenant returns the latest stored failed requests of the tenant's keys since an instant, the
// newest first.
func (d FailedRequests) OfTenant(
	ctx context.Context,
	tenantID int64,
	since time.Time,
	limit int,
) ([]usage.FailedRequest, error) {
	return d.list(ctx, ` where tenant_id = $1 and at >= $2 order by at desc, number desc limit $3`,
		tenantID, since, limit)
}

// LatestRefusal returns the tenant's latest stored request that was refused by a limit that its
// keys share, per minute, day or month; nil for none.
func (d FailedRequests) LatestRefusal(ctx context.Context, tenantID int64) (*usage.FailedRequest, error) {
	list, err := d.list(
		ctx,
		` where tenant_id = $1 and limited_by in ('minute', 'day', 'month') order by at desc, number desc limit 1`,
		tenantID,
	)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// OfRequest returns the stored failed requests with that ID, the newest first. There may be
// several, because clients may choose an ID and use it again.
func (d FailedRequests) OfRequest(ctx context.Context, requestID string, limit int) ([]usage.FailedRequest, error) {
	return d.list(ctx, ` where request_id = $1 order by at desc, number desc limit $2`, requestID, limit)
}

func (d FailedRequests) list(ctx context.Context, rest string, args ...any) (_ []usage.FailedRequest, err error) {
	defer pgconn.Wrap(&err, "list failed requests")
	return pgconn.Collect(
		ctx,
		d.db,
		failedRow.failedRequest,
		`select `+failedColumns+` from failed_requests`+rest,
		args...)
}
