package people

import (
	"context"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// WithPrefix returns at most limit tenants whose names begin with the prefix, in the order of their names.
func (d Tenants) WithPrefix(ctx context.Context, prefix string, limit int) (_ []plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "list tenants by prefix")
	return pgconn.Collect(ctx, d.db, tenants.Row.Tenant,
		tenants.Select+` where starts_with(t.name, $2) and t.erased_at is null order by t.name limit $3`, d.db.JustNow(), prefix, limit)
}

// WithPrefix returns at most limit keys whose IDs begin with the prefix, in the order of their IDs.
func (d Keys) WithPrefix(ctx context.Context, prefix string, limit int) (_ []keys.Key, err error) {
	defer pgconn.Wrap(&err, "list keys by prefix")
	return pgconn.Collect(ctx, d.db, keyRow.key, selectKey+` where starts_with(k.id, $1) order by k.id limit $2`, prefix, limit)
}
