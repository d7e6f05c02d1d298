package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// KeySummary is a key with the ban in force, which has no ID if there is none.
type KeySummary struct {
	keys.Key
	Ban keys.Ban
}

type keySummaryRow struct {
	keyRow
	Total     int            `db:"total"`
	BanID     sql.NullInt64  `db:"ban_id"`
	BanEnd    sql.NullTime   `db:"ban_ends_at"`
	BanReason sql.NullString `db:"ban_reason"`
	BanSource sql.NullString `db:"ban_source"`
}

func (r keySummaryRow) summary() KeySummary {
	s := KeySummary{Key: r.key()}
	if r.BanID.Valid {
		s.Ban = keys.Ban{
			ID: r.BanID.Int64, TenantID: r.TenantID, TenantName: r.TenantName, KeyID: r.ID,
			Source: keys.BanSource(r.BanSource.String), Reason: r.BanReason.String, EndsAt: timeOf(r.BanEnd),
		}
	}
	return s
}

// Summary returns at most limit keys of a tenant, and how many it has: first the key with that ID, then those that are banned, then those
// that are active, and of these the ones used last.
func (d Keys) Summary(ctx context.Context, tenantID int64, first string, limit int, now time.Time) (list []KeySummary, total int, err error) {
	list, err = pgconn.Collect(ctx, d.db, func(r keySummaryRow) KeySummary {
		total = r.Total
		return r.summary()
	}, `
		select k.id, k.tenant_id, t.name as tenant_name, k.name, k.environment, k.last4, coalesce(k.per_minute, 0) as per_minute,
		       k.created_at, k.expires_at, k.revoked_at, k.last_used_at, count(*) over () as total,
		       b.id as ban_id, b.ends_at as ban_ends_at, b.reason as ban_reason, b.source as ban_source
		from api_keys k
		join tenants t on t.id = k.tenant_id
		left join lateral (
		  select b.id, b.ends_at, b.reason, b.source from bans b where b.key_id = k.id and `+banInForce+` order by b.ends_at desc limit 1
		) b on true
		where k.tenant_id = $2
		order by k.id = $3 desc, b.id is not null desc, (k.revoked_at is null and (k.expires_at is null or k.expires_at > $1)) desc,
		         k.last_used_at desc nulls last, k.id
		limit $4`, now, tenantID, first, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("summarize keys: %w", err)
	}
	return list, total, nil
}
