package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// KeysSince returns how many requests of each of these keys are recorded since an hour began. Keys without any are left out.
func (d Usage) KeysSince(ctx context.Context, ids []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select u.key_id as name, sum(u.admitted + u.refused)::bigint as requests from usage_hourly u
		where u.tenant_id in (select k.tenant_id from api_keys k where k.id = any($1)) and u.key_id = any($1) and u.hour >= $2
		group by u.key_id`, ids, since)
}

// TenantsSince returns how many requests of each of these tenants are recorded since an hour began. Tenants without any are left out.
func (d Usage) TenantsSince(ctx context.Context, names []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select t.name, sum(u.admitted + u.refused)::bigint as requests from usage_hourly u join tenants t on t.id = u.tenant_id
		where t.name = any($1) and u.hour >= $2
		group by t.name`, names, since)
}

func (d Usage) sums(ctx context.Context, query string, names []string, since time.Time) (map[string]int64, error) {
	var rows []struct {
		Name     string `db:"name"`
		Requests int64  `db:"requests"`
	}
	if err := d.db.Select(ctx, &rows, query, pq.Array(names), since); err != nil {
		return nil, fmt.Errorf("sum recent usage: %w", err)
	}
	sums := make(map[string]int64, len(rows))
	for _, r := range rows {
		sums[r.Name] = r.Requests
	}
	return sums, nil
}
