package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
)

// BillingRow is a period within a month in which a tenant was on a plan, with the usage of that period.
type BillingRow struct {
	TenantID int64
	Tenant   string
	Plan     string
	// PerMinute and PerDay are the numbers that were in force.
	PerMinute, PerDay int64
	// From and To are zero for usage on a plan that the tenant's history does not have.
	From, To time.Time
	Admitted int64
	Refused  int64
}

type billingRow struct {
	TenantID  int64        `db:"tenant_id"`
	Tenant    string       `db:"tenant"`
	Plan      string       `db:"plan"`
	PerMinute int64        `db:"per_minute"`
	PerDay    int64        `db:"per_day"`
	From      sql.NullTime `db:"valid_from"`
	To        sql.NullTime `db:"valid_to"`
	Admitted  int64        `db:"admitted"`
	Refused   int64        `db:"refused"`
}

func (r billingRow) row() BillingRow {
	return BillingRow{
		TenantID: r.TenantID, Tenant: r.Tenant, Plan: r.Plan, PerMinute: r.PerMinute, PerDay: r.PerDay,
		From: timeOf(r.From), To: timeOf(r.To), Admitted: r.Admitted, Refused: r.Refused,
	}
}

// Billing returns each tenant's plans in order of time, from from up to, but not including, to. Both are whole hours. A plan
// without usage has a row too. Each recorded request is in exactly one row. Usage is kept by hour, so an hour in which the
// same plan began again with another quota counts to the later period.
func (d Usage) Billing(ctx context.Context, from, to time.Time) ([]BillingRow, error) {
	list, err := pgconn.Collect(ctx, d.db, billingRow.row, `
		with used as (
		  select u.tenant_id, u.plan, h.valid_from, sum(u.admitted)::bigint as admitted, sum(u.refused)::bigint as refused
		  from usage_hourly u
		  left join lateral (
		    select coalesce(max(h.valid_from) filter (where h.valid_from < u.hour + interval '1 hour'), min(h.valid_from)) as valid_from
		    from tenant_plans h where h.tenant_id = u.tenant_id and h.plan = u.plan
		  ) h on true
		  where u.hour >= $1 and u.hour < $2
		  group by u.tenant_id, u.plan, h.valid_from
		), periods as (
		  select tenant_id, plan, valid_from from tenant_plans
		  where valid_from < $2 and (valid_to is null or valid_to > $1)
		), billed as (
		  select tenant_id, plan, valid_from, coalesce(u.admitted, 0) as admitted, coalesce(u.refused, 0) as refused
		  from periods full join used u using (tenant_id, plan, valid_from)
		)
		select b.tenant_id, t.name as tenant, b.plan, coalesce(h.per_minute, 0) as per_minute, coalesce(h.per_day, 0) as per_day,
		       case when h.plan is not null then least(greatest(h.valid_from, $1), $2) end as valid_from,
		       -- Where clocks disagree, requests may be recorded in an hour before or after their plan.
		       case when h.plan is not null then greatest(least(h.valid_to, $2), $1) end as valid_to,
		       b.admitted, b.refused
		from billed b
		join tenants t on t.id = b.tenant_id
		left join tenant_plans h on h.tenant_id = b.tenant_id and h.valid_from = b.valid_from
		order by t.name, b.valid_from, b.plan`, from, to)
	if err != nil {
		return nil, fmt.Errorf("report billing: %w", err)
	}
	return list, nil
}
