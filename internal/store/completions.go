package store

import (
	"context"
	"fmt"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// WithPrefix returns at most limit tenants whose names begin with the prefix, in the order of their names.
func (d Tenants) WithPrefix(ctx context.Context, prefix string, limit int) ([]plans.Tenant, error) {
	var rows []tenantRow
	err := d.db.Select(ctx, &rows, selectTenant+` where starts_with(t.name, $2) and t.erased_at is null order by t.name limit $3`, d.db.JustNow(), prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("list tenants by prefix: %w", err)
	}
	tenants := make([]plans.Tenant, len(rows))
	for i, r := range rows {
		tenants[i] = r.tenant()
	}
	return tenants, nil
}

// WithPrefix returns at most limit keys whose IDs begin with the prefix, in the order of their IDs.
func (d Keys) WithPrefix(ctx context.Context, prefix string, limit int) ([]keys.Key, error) {
	var rows []keyRow
	if err := d.db.Select(ctx, &rows, selectKey+` where starts_with(k.id, $1) order by k.id limit $2`, prefix, limit); err != nil {
		return nil, fmt.Errorf("list keys by prefix: %w", err)
	}
	found := make([]keys.Key, len(rows))
	for i, r := range rows {
		found[i] = r.key()
	}
	return found, nil
}
