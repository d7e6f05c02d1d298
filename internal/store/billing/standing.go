package billing

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
)

// KeyUsage is what was admitted and refused of one key, and of all keys of its tenant.
type KeyUsage struct {
	Admitted       int64 `db:"admitted"`
	Refused        int64 `db:"refused"`
	TenantAdmitted int64 `db:"tenant_admitted"`
	TenantRefused  int64 `db:"tenant_refused"`
}

// OfKey sums the recorded usage from from up to, but not including, to, both whole hours. Servers record within about a second.
func (d Usage) OfKey(ctx context.Context, tenantID int64, keyID string, from, to time.Time) (_ KeyUsage, err error) {
	defer pgconn.Wrap(&err, "sum a key's usage")
	var u KeyUsage
	err = d.db.Get(ctx, &u, `
		select coalesce(sum(admitted) filter (where key_id = $2), 0)::bigint as admitted,
		       coalesce(sum(refused) filter (where key_id = $2), 0)::bigint as refused,
		       coalesce(sum(admitted), 0)::bigint as tenant_admitted,
		       coalesce(sum(refused), 0)::bigint as tenant_refused
		from usage_hourly where tenant_id = $1 and hour >= $3 and hour < $4`, tenantID, keyID, from, to)
	return u, err
}

// OfKeys sums as OfKey does, for each key of the tenant with usage in that time.
func (d Usage) OfKeys(ctx context.Context, tenantID int64, from, to time.Time) (map[string]KeyUsage, error) {
	var rows []struct {
		KeyID string `db:"key_id"`
		KeyUsage
	}
	err := d.db.Select(ctx, &rows, `
		select key_id, sum(admitted)::bigint as admitted, sum(refused)::bigint as refused,
		       sum(sum(admitted)) over ()::bigint as tenant_admitted, sum(sum(refused)) over ()::bigint as tenant_refused
		from usage_hourly where tenant_id = $1 and hour >= $2 and hour < $3 group by key_id`, tenantID, from, to)
	if err != nil {
		return nil, fmt.Errorf("sum the usage of a tenant's keys: %w", err)
	}
	sums := map[string]KeyUsage{}
	for _, row := range rows {
		sums[row.KeyID] = row.KeyUsage
	}
	return sums, nil
}
