package billing

import (
	"context"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
)

// KeysSince returns how many requests of each of these keys are recorded since an hour began. Keys without any are left out.
func (d Usage) KeysSince(ctx context.Context, ids []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select u.key_id as key, sum(u.admitted + u.refused)::bigint as value from usage_hourly u
		where u.tenant_id in (select k.tenant_id from api_keys k where k.id = any($1)) and u.key_id = any($1) and u.hour >= $2
		group by u.key_id`, ids, since)
}

// TenantsSince returns how many requests of each of these tenants are recorded since an hour began. Tenants without any are left out.
func (d Usage) TenantsSince(ctx context.Context, names []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select t.name as key, sum(u.admitted + u.refused)::bigint as value from usage_hourly u join tenants t on t.id = u.tenant_id
		where t.name = any($1) and u.hour >= $2
		group by t.name`, names, since)
}

func (d Usage) sums(ctx context.Context, query string, names []string, since time.Time) (_ map[string]int64, err error) {
	defer pgconn.Wrap(&err, "sum recent usage")
	return pgconn.CollectMap[string, int64](ctx, d.db, query, pq.Array(names), since)
}
