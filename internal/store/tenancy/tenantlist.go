package tenancy

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenants"
)

// TenantFilter selects tenants that match all of its set members.
type TenantFilter struct {
	// Plan is the name of the plan in force now.
	Plan string
	// Suspended selects suspended tenants if true, and the others if false; nil for both. Erased
	// selects erased tenants, which are neither.
	Suspended *bool
	Erased    bool
	// Search is a part of the name, the e-mail address or the billing reference, in any case.
	Search string
	// InactiveSince selects tenants that existed at that time, and have no recorded request since.
	InactiveSince time.Time
	// BillingRef is the number in the billing system.
	BillingRef string
	// WithoutBillingRef selects tenants without a number in the billing system.
	WithoutBillingRef bool
	// Over selects tenants that have used at least so many per cent of their day, or of the requests
	// that their month includes, by recorded usage; 0 for all.
	Over int64
	// After is the name after which the list begins.
	After string
	// Limit is the maximum number of tenants; 0 for all.
	Limit int
}

// UsedTenant is a tenant with its recorded usage of the UTC day and month, nil if the list was not
// filtered by it.
type UsedTenant struct {
	plans.Tenant
	Today, Month *int64
}

type usedRow struct {
	tenants.Row
	Today *int64 `db:"used_today"`
	Month *int64 `db:"used_month"`
}

func (r usedRow) tenant() UsedTenant { return UsedTenant{r.Tenant(), r.Today, r.Month} }

// listUsed selects tenants with their usage of today and of the month.
const listUsed = `select ` + tenants.Columns + `, coalesce(d.used, 0) as used_today, coalesce(m.admitted, 0) as
	used_month` + tenants.From + `
	left join (
	  select u.tenant_id, sum(u.admitted)::bigint as used from usage_hourly u
	  where u.hour >= date_trunc('day', coalesce($1::timestamptz, now()), 'UTC') group by u.tenant_id
	) d on d.tenant_id = t.id
	left join tenant_months m on m.tenant_id = t.id
	  and m.month = date_trunc('month', coalesce($1::timestamptz, now()) at time zone 'UTC')::date`

// List returns tenants in order of name.
func (d Tenants) List(ctx context.Context, f TenantFilter) iter.Seq2[UsedTenant, error] {
	return pgconn.ListOf(ctx, d.db, "list tenants", usedRow.tenant, func() (*pgconn.ListQuery, error) {
		q := pgconn.NewListQuery(tenants.Select, d.db.JustNow())
		if f.Over > 0 {
			q = pgconn.NewListQuery(listUsed, d.db.JustNow())
			q.And(`d.used::numeric * 100 >= ? * q.per_day::numeric
				or m.admitted > 0 and m.admitted::numeric * 100 >= ? * q.per_month::numeric`, f.Over, f.Over)
		}
		if f.After != "" {
			q.And(`t.name > ?`, f.After)
		}
		if f.Plan != "" {
			if _, err := pricing.GetPlan(ctx, d.db, f.Plan, sql.NullTime{}); err != nil {
				return nil, err
			}
			// The first condition has an index and leaves few tenants; the second is exact.
			q.And(`t.id in (select a.tenant_id from tenant_plans a where a.plan = ?) and q.plan = ?`, f.Plan, f.Plan)
		}
		if f.Suspended != nil {
			q.And(`(t.suspended_at is not null) = ? and t.erased_at is null`, *f.Suspended)
		}
		if f.Erased {
			q.And(`t.suspended_at is not null and t.erased_at is not null`) // This condition has an index.
		}
		if f.BillingRef != "" {
			q.And(`t.billing_ref = ?`, f.BillingRef)
		}
		if f.Search != "" {
			word := pgconn.Like(f.Search)
			q.And(
				`t.name like lower(?) or lower(t.email) like lower(?) or lower(t.billing_ref) like lower(?)`,
				word,
				word,
				word,
			)
		}
		if !f.InactiveSince.IsZero() {
			ids, err := maybeInactive(ctx, d.db, f.InactiveSince)
			if err != nil {
				return nil, err
			}
			if len(ids) <= fewInactive {
				q.And(`t.id = any(?)`, pq.Array(ids))
			}
			// "offset 0" makes Postgres look up each tenant, instead of reading all usage since
			// then.
			q.And(
				`t.created_at < ? and not exists (select from usage_in_time u where u.tenant_id = t.id and u.hour >= ?
					offset 0)`,
				f.InactiveSince,
				f.InactiveSince,
			)
		}
		if f.WithoutBillingRef {
			q.And(`t.billing_ref is null and t.erased_at is null`)
		}
		q.End(`t.name`, f.Limit)
		return q, nil
	})
}

// fewInactive is the most tenants that are looked up by ID. If more may be inactive, the first ones
// of a list are found soon anyway.
const fewInactive = 2000

// maybeInactive returns all tenants that may have no usage since then, or more than fewInactive of
// them.
func maybeInactive(ctx context.Context, q pgconn.Queryer, since time.Time) (ids []int64, err error) {
	err = q.Select(ctx, &ids, `
		select t.id from tenants t left join tenant_activity a on a.tenant_id = t.id
		where t.created_at < $1 and (a.last_day is null or a.last_day <= ($1::timestamptz at time zone 'UTC')::date)
		limit $2`, since, fewInactive+1)
	return ids, err
}

// NamesOf returns the names of tenants by their numbers.
func (d Tenants) NamesOf(ctx context.Context, ids []int64) (_ map[int64]string, err error) {
	defer pgconn.Wrap(&err, "name tenants")
	return pgconn.CollectMap[int64, string](
		ctx,
		d.db,
		`select id as key, name as value from tenants where id = any($1)`,
		pq.Array(ids),
	)
}

// WithPrefix returns at most limit tenants whose names begin with the prefix, in the order of their
// names.
func (d Tenants) WithPrefix(ctx context.Context, prefix string, limit int) (_ []plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "list tenants by prefix")
	return pgconn.Collect(
		ctx,
		d.db,
		tenants.Row.Tenant,
		tenants.Select+` where starts_with(t.name, $2) and t.erased_at is null order by t.name limit $3`,
		d.db.JustNow(),
		prefix,
		limit,
	)
}
