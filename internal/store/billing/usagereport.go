package billing

import (
	"context"
	"errors"
	"iter"
	"time"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// UsageBy says what each row of a usage report stands for.
type UsageBy string

// The groupings of a usage report.
const (
	ByTenantAndPlan UsageBy = ""
	ByTenant        UsageBy = "tenant"
	ByPlan          UsageBy = "plan"
	ByKey           UsageBy = "key"
	ByDay           UsageBy = "day"
	ByHour          UsageBy = "hour"
)

// UsageQuery selects recorded usage from From up to, but not including, To. Both are whole hours.
type UsageQuery struct {
	// Tenant is a tenant's name, empty for all.
	Tenant   string
	From, To time.Time
	By       UsageBy
	// Limit is the maximum number of rows; 0 for all.
	Limit int
	// Overage also sums the overage: From and To are a month, and By is not ByKey.
	Overage bool
}

// UsageRow is one line of a usage report. Only the sums and the columns of the grouping are set.
type UsageRow struct {
	Tenant string `db:"tenant"`
	// Plan is the plan in force at the time of the requests, not the present one.
	Plan  string `db:"plan"`
	KeyID string `db:"key_id"`
	// KeyName is empty if the login may not read keys, or the key was erased or removed.
	KeyName string `db:"key_name"`
	// At is the beginning of the UTC day or hour.
	At       time.Time `db:"at"`
	Admitted int64     `db:"admitted"`
	Refused  int64     `db:"refused"`
	// Overage is the part of Admitted above the included number of the month, as it is now.
	Overage int64 `db:"overage"`
}

// usageColumns are the columns of each grouping and its order.
var usageColumns = map[UsageBy]struct{ columns, groupBy, orderBy string }{
	ByTenantAndPlan: {`t.name as tenant, p.name as plan`, `t.name, p.name, p.position`, `t.name, p.position`},
	ByTenant:        {`t.name as tenant`, `t.name`, `t.name`},
	ByPlan:          {`p.name as plan`, `p.name, p.position`, `p.position`},
	ByKey:           {`t.name as tenant, u.key_id`, `t.name, u.key_id`, `t.name, admitted desc, u.key_id`},
	ByDay:           {`date_trunc('day', u.hour, 'UTC') as at`, `date_trunc('day', u.hour, 'UTC')`, `at`},
	ByHour:          {`u.hour as at`, `u.hour`, `at`},
}

// monthOverage has the overage of a month beside its requests.
const monthOverage = `
			  union all
			  select a.tenant_id, o.hour, '', o.assignment, 0, 0, o.overage
			  from (
			    select distinct a.tenant_id from tenant_plans a
			    where a.per_month is not null or a.plan in (select plan from plan_versions where per_month is not null)
			  ) a
			  cross join lateral usage_overage(a.tenant_id, ?, ?, array(
			    select v.id from tenant_plans v where v.tenant_id = a.tenant_id and v.voided_at is not null)) o`

// Report sums recorded usage, or returns plans.ErrTenantNotFound. Servers record what they admitted
// and refused within about a second.
func (d Usage) Report(ctx context.Context, q UsageQuery) iter.Seq2[UsageRow, error] {
	return pgconn.ListOf(ctx, d.db, "report usage", UsageRow.inUTC, func() (*pgconn.ListQuery, error) {
		group, ok := usageColumns[q.By]
		if !ok {
			return nil, errors.New("no such grouping")
		}
		if q.By == ByHour {
			if err := hoursSince(ctx, d.db, q.From); err != nil {
				return nil, err
			}
		}
		tenantID, err := tenants.IDOf(ctx, d.db, q.Tenant)
		if err != nil {
			return nil, err
		}
		if q.By == ByKey {
			if group.columns, err = d.nameKeys(ctx, group.columns); err != nil {
				return nil, err
			}
		}
		query := pgconn.NewListQuery(`
			select ` + group.columns + `, sum(u.admitted)::bigint as admitted, sum(u.refused)::bigint as refused,
			       sum(u.overage)::bigint as overage
			from (
			  select u.tenant_id, u.hour, u.key_id, u.assignment, u.admitted, u.refused, 0 as overage
			  from usage_in_time u`)
		if q.Overage {
			query.Add(monthOverage, date(q.From), q.To)
		}
		query.Add(`) u
			join tenants t on t.id = u.tenant_id
			join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
			join price_list p on p.name = a.plan`)
		query.And(`u.hour >= ? and u.hour < ?`, q.From, q.To)
		if tenantID != 0 {
			query.And(`u.tenant_id = ?`, tenantID)
		}
		query.Add(` group by ` + group.groupBy)
		query.End(group.orderBy, q.Limit)
		return query, nil
	})
}

func (r UsageRow) inUTC() UsageRow {
	if !r.At.IsZero() {
		r.At = r.At.UTC()
	}
	return r
}

// nameKeys adds the names of existing keys to the columns, if the login may read them. Billing may
// not.
func (d Usage) nameKeys(ctx context.Context, columns string) (string, error) {
	var may bool
	err := d.db.Get(ctx, &may, `select has_column_privilege('api_keys', 'name', 'select')`)
	if may {
		columns += `, coalesce((select k.name from api_keys k where k.id = u.key_id), '') as key_name`
	}
	return columns, err
}
