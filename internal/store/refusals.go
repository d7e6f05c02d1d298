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
	err := d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		if err := insertRefusals(ctx, tx, refusals); err != nil {
			return err
		}
		return removeOldest(ctx, tx, refusals)
	})
	if err != nil {
		return fmt.Errorf("keep refusals: %w", err)
	}
	return nil
}

func insertRefusals(ctx context.Context, tx pgconn.Tx, refusals []usage.RefusalRecord) error {
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
	_, err := tx.Exec(ctx, `
		insert into refusals (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by, allowed,
		                      resets_at, partial, method, route, suppressed)
		select r.tenant_id, r.server_id, r.number, r.key_id, timestamptz 'epoch' + r.micros * interval '1 microsecond',
		       -- The client chooses the method, of any length.
		       r.request_id, r.code, r.plan, r.limited_by, r.allowed, to_timestamp(nullif(r.reset, 0)), r.partial,
		       left(r.method, 16), r.route, r.suppressed
		from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[],
		            $9::text[], $10::bigint[], $11::bigint[], $12::boolean[], $13::text[], $14::text[], $15::bigint[])
		     as r (tenant_id, server_id, number, key_id, micros, request_id, code, plan, limited_by, allowed, reset, partial,
		           method, route, suppressed)
		join api_keys k on k.id = r.key_id and k.tenant_id = r.tenant_id
		on conflict do nothing`,
		pq.Array(tenants), pq.Array(servers), pq.Array(numbers), pq.Array(keyIDs), pq.Array(micros), pq.Array(requests),
		pq.Array(codes), pq.Array(plans), pq.Array(windows), pq.Array(limits), pq.Array(resets), pq.Array(partial),
		pq.Array(methods), pq.Array(routes), pq.Array(suppressed))
	return err
}

// removeOldest removes all but the latest refusals of these keys. It skips rows that another server is removing.
func removeOldest(ctx context.Context, tx pgconn.Tx, refusals []usage.RefusalRecord) error {
	tenantOf := map[string]int64{}
	for _, r := range refusals {
		tenantOf[r.KeyID] = r.TenantID
	}
	var keyIDs []string
	var tenants []int64
	for id, tenant := range tenantOf {
		keyIDs, tenants = append(keyIDs, id), append(tenants, tenant)
	}
	_, err := tx.Exec(ctx, `
		with over as materialized (
		  select r.tenant_id, r.server_id, r.number
		  from unnest($1::bigint[], $2::text[]) as k (tenant_id, key_id)
		  cross join lateral (
		    select o.tenant_id, o.server_id, o.number from refusals o
		    where o.tenant_id = k.tenant_id and o.key_id = k.key_id
		    order by o.at desc, o.number desc offset $3
		  ) r
		), gone as materialized (
		  select r.tenant_id, r.server_id, r.number from refusals r join over using (tenant_id, server_id, number)
		  for update of r skip locked
		)
		delete from refusals r using gone g
		where r.tenant_id = g.tenant_id and r.server_id = g.server_id and r.number = g.number`,
		pq.Array(tenants), pq.Array(keyIDs), usage.RefusalsPerKey)
	return err
}

// Prune removes at most limit refusals from before the instant, and returns how many.
func (d Refusals) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	removed, err := d.db.Exec(ctx, `
		with old as materialized (
		  select tenant_id, server_id, number from refusals where at < $1 order by at limit $2 for update skip locked
		)
		delete from refusals r using old o
		where r.tenant_id = o.tenant_id and r.server_id = o.server_id and r.number = o.number`, before, limit)
	if err != nil {
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
