package people

import (
	"context"
	"iter"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// BanFilter selects bans: those for which all of its members hold that are set.
type BanFilter struct {
	// Tenant is a tenant's name, KeyID a key's ID.
	Tenant, KeyID string
	Source        keys.BanSource
	// Since selects bans that began then or later.
	Since time.Time
	// Past adds bans that ended or were lifted to those in force.
	Past bool
	// After is the ID of the ban after which the list begins.
	After int64
	// Limit is the most bans; 0 for all.
	Limit int
}

// List returns bans in force at the instant, or all, the newest first. It returns plans.ErrTenantNotFound, or keys.ErrBanNotFound if
// there is no ban After.
func (d Bans) List(ctx context.Context, f BanFilter, now time.Time) iter.Seq2[keys.Ban, error] {
	return pgconn.ListOf(ctx, d.db, "list bans", banRow.ban, func() (*pgconn.ListQuery, error) {
		tenantID, err := tenants.IDOf(ctx, d.db, f.Tenant)
		if err != nil {
			return nil, err
		}
		q := pgconn.NewListQuery(selectBan)
		if !f.Past {
			q.And(`b.lifted_at is null and b.ends_at > ?`, now)
		}
		if tenantID != 0 {
			q.And(`b.tenant_id = ?`, tenantID)
		}
		if f.KeyID != "" {
			q.And(`b.key_id = ?`, f.KeyID)
		}
		if f.Source != "" {
			q.And(`b.source = ?`, string(f.Source))
		}
		if !f.Since.IsZero() {
			q.And(`b.starts_at >= ?`, f.Since)
		}
		if f.After != 0 {
			last, err := selectBans(ctx, d.db, ` where b.id = $1`, f.After)
			if err != nil {
				return nil, err
			}
			if len(last) == 0 {
				return nil, keys.ErrBanNotFound
			}
			q.And(`(b.starts_at, b.id) < (?, ?)`, last[0].StartsAt, f.After)
		}
		q.End(`b.starts_at desc, b.id desc`, f.Limit)
		return q, nil
	})
}
