package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
)

// BillingRow is a period within a month in which a tenant's plan and numbers did not change, with the usage of that period.
type BillingRow struct {
	TenantID int64
	Tenant   string
	Plan     string
	// PerMinute and PerDay are the numbers that were in force.
	PerMinute, PerDay int64
	// From and To are zero for usage under a version that was never in force for the tenant, which no server records.
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

// Billing returns the periods of each tenant in order of time, from from up to, but not including, to. Both are whole hours. A period
// without usage has a row too. Each recorded request is in exactly one row: that of the assignment and version by which it was decided.
func (d Usage) Billing(ctx context.Context, from, to time.Time) ([]BillingRow, error) {
	list, err := pgconn.Collect(ctx, d.db, billingRow.row, `
		with used as (
		  select tenant_id, assignment, version, sum(admitted)::bigint as admitted, sum(refused)::bigint as refused
		  from usage_hourly where hour >= $1 and hour < $2
		  group by tenant_id, assignment, version
		), periods as (
		  select tenant_id, assignment, version, plan, per_minute, per_day, valid_from, valid_to from quota_periods
		)
		select t.id as tenant_id, t.name as tenant, a.plan,
		       coalesce(p.per_minute, 0) as per_minute, coalesce(p.per_day, 0) as per_day,
		       -- Where clocks disagree, requests may be recorded in an hour before or after their period.
		       least(greatest(p.valid_from, $1), $2) as valid_from, greatest(least(p.valid_to, $2), $1) as valid_to,
		       coalesce(u.admitted, 0) as admitted, coalesce(u.refused, 0) as refused
		from periods p
		full join used u on u.tenant_id = p.tenant_id and u.assignment = p.assignment and u.version = p.version
		join tenants t on t.id = coalesce(p.tenant_id, u.tenant_id)
		join tenant_plans a on a.id = coalesce(p.assignment, u.assignment)
		where u.tenant_id is not null or p.valid_from < $2 and (p.valid_to is null or p.valid_to > $1)
		order by t.name, p.valid_from, u.version`, from, to)
	if err != nil {
		return nil, fmt.Errorf("report billing: %w", err)
	}
	return list, nil
}
