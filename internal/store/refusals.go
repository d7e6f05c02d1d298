package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

// Refusals stores the latest refused requests of each key.
type Refusals struct{ db *pgconn.DB }

var _ usage.RefusalStore = Refusals{}

// WriteRefusals implements usage.RefusalStore.
func (d Refusals) WriteRefusals(ctx context.Context, refusals []usage.RefusalRecord) error {
	n := len(refusals)
	tenants, numbers, micros, limits := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	resets, suppressed, partial := make([]int64, n), make([]int64, n), make([]bool, n)
	servers, keyIDs, requests, codes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	plans, windows, methods, routes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, r := range refusals {
		tenants[i], numbers[i], micros[i], limits[i] = r.TenantID, r.Number, r.At.UnixMicro(), r.Limit
		resets[i], suppressed[i], partial[i] = r.Reset, r.Suppressed, r.Partial
		servers[i], keyIDs[i], requests[i], codes[i] = r.ServerID, r.KeyID, r.RequestID, r.Code
		plans[i], windows[i], methods[i], routes[i] = r.Plan, r.Window, r.Method, r.Route
	}
	_, err := d.db.Exec(ctx, `select add_refusals($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		pq.Array(tenants), pq.Array(servers), pq.Array(numbers), pq.Array(keyIDs), pq.Array(micros), pq.Array(requests),
		pq.Array(codes), pq.Array(plans), pq.Array(windows), pq.Array(limits), pq.Array(resets), pq.Array(partial),
		pq.Array(methods), pq.Array(routes), pq.Array(suppressed))
	if err != nil {
		return fmt.Errorf("keep refusals: %w", err)
	}
	return nil
}

// Prune removes at most limit refusals from before the instant, and returns how many. Those of the last day stay.
func (d Refusals) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if err := d.db.Get(ctx, &removed, `select prune_refusals($1, $2)`, before, limit); err != nil {
		return 0, fmt.Errorf("remove old refusals: %w", err)
	}
	return removed, nil
}

type refusalRow struct {
	TenantID   int64     `db:"tenant_id"`
	ServerID   string    `db:"server_id"`
	Number     int64     `db:"number"`
	KeyID      string    `db:"key_id"`
	At         time.Time `db:"at"`
	RequestID  string    `db:"request_id"`
	Code       string    `db:"code"`
	Plan       string    `db:"plan"`
	LimitedBy  string    `db:"limited_by"`
	Allowed    int64     `db:"allowed"`
	Reset      int64     `db:"reset"`
	Partial    bool      `db:"partial"`
	Method     string    `db:"method"`
	Route      string    `db:"route"`
	Suppressed int64     `db:"suppressed"`
}

func (r refusalRow) record() usage.RefusalRecord {
	return usage.RefusalRecord{
		Refusal: usage.Refusal{
			At: r.At.UTC(), RequestID: r.RequestID, TenantID: r.TenantID, KeyID: r.KeyID, Code: r.Code, Plan: r.Plan,
			Window: r.LimitedBy, Limit: r.Allowed, Reset: r.Reset, Partial: r.Partial, Method: r.Method, Route: r.Route,
		},
		ServerID: r.ServerID, Number: r.Number, Suppressed: r.Suppressed,
	}
}

const selectRefusal = `
	select tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by, allowed,
	       coalesce(extract(epoch from resets_at)::bigint, 0) as reset, partial, method, route, suppressed
	from refusals`

// OfKey returns the latest stored refusals of the key, the newest first.
func (d Refusals) OfKey(ctx context.Context, tenantID int64, keyID string, limit int) ([]usage.RefusalRecord, error) {
	return d.list(ctx, ` where tenant_id = $1 and key_id = $2 order by at desc, number desc limit $3`,
		tenantID, keyID, limit)
}

// OfRequest returns the stored refusals of requests with that ID, the newest first. There may be several, because clients may
// choose an ID and use it again.
func (d Refusals) OfRequest(ctx context.Context, requestID string, limit int) ([]usage.RefusalRecord, error) {
	return d.list(ctx, ` where request_id = $1 order by at desc, number desc limit $2`, requestID, limit)
}

func (d Refusals) list(ctx context.Context, rest string, args ...any) ([]usage.RefusalRecord, error) {
	list, err := pgconn.Collect(ctx, d.db, refusalRow.record, selectRefusal+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list refusals: %w", err)
	}
	return list, nil
}
