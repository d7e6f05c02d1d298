package people

import (
	"context"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// Summary returns at most limit keys of a tenant, and how many it has: first the key with that ID, then those that are banned, then those
// that are active, and of these the ones used last.
func (d Keys) Summary(ctx context.Context, tenantID int64, first string, limit int, now time.Time) (list []keys.Key, total int, err error) {
	defer pgconn.Wrap(&err, "summarize keys")
	type row struct {
		keyRow
		Total int `db:"total"`
	}
	list, err = pgconn.Collect(ctx, d.db, func(r row) keys.Key {
		total = r.Total
		return r.key()
	}, `select `+keyColumns+`, count(*) over () as total`+fromKeys+`
		where k.tenant_id = $2
		order by k.id = $3 desc, (b.ends_at > $1) is true desc, (k.revoked_at is null and (k.expires_at is null or k.expires_at > $1)) desc,
		         k.last_used_at desc nulls last, k.id
		limit $4`, now, tenantID, first, limit)
	return list, total, err
}
