package pricing

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Plans reads the plans that are sold.
type Plans struct{ db *pgconn.DB }

// PriceList is what the API's role may read of the plans.
type PriceList struct{ db *pgconn.DB }

// Sold implements api.PriceList.
func (d PriceList) Sold(ctx context.Context) (_ []plans.Plan, err error) {
	defer pgconn.Wrap(&err, "list the plans that are sold")
	return pgconn.Collect(ctx, d.db, planRow.plan, `
		select name, version, per_minute, per_day from plans
		-- A plan that has not begun has no version in force.
		where version is not null and (retires_at is null or retires_at > now())
		order by per_day, per_minute, position`)
}

type planRow struct {
	Name      string        `db:"name"`
	Version   int           `db:"version"`
	From      time.Time     `db:"valid_from"`
	PerMinute sql.NullInt64 `db:"per_minute"`
	PerDay    sql.NullInt64 `db:"per_day"`
	Title     string        `db:"title"`
	Price     string        `db:"price"`
	RetiresAt sql.NullTime  `db:"retires_at"`
}

func (r planRow) plan() plans.Plan {
	return plans.Plan{
		Name: r.Name, Quota: quotaOf(r.PerMinute, r.PerDay), Version: r.Version, From: r.From.UTC(),
		Title: r.Title, Price: r.Price, RetiresAt: pgconn.TimeOf(r.RetiresAt),
	}
}

// quotaOf is the quota of two columns, nil for null.
func quotaOf(perMinute, perDay sql.NullInt64) *plans.Quota {
	if !perMinute.Valid || !perDay.Valid {
		return nil
	}
	return &plans.Quota{PerMinute: perMinute.Int64, PerDay: perDay.Int64}
}

// selectPlan selects plans with their numbers at the instant $1, null for now: those of the first version of a plan that has not begun.
const selectPlan = `
	select l.name, l.title, l.price, l.retires_at, v.version, v.valid_from, v.per_minute, v.per_day
	from (select coalesce($1::timestamptz, now()) as instant) i
	cross join price_list l
	cross join lateral (
	  select * from plan_versions v where v.plan = l.name
	  order by v.valid_from > i.instant, case when v.valid_from <= i.instant then v.valid_from end desc, v.valid_from
	  limit 1
	) v`

// List returns all plans, the smallest first, and at last those without numbers.
func (d Plans) List(ctx context.Context) (_ []plans.Plan, err error) {
	defer pgconn.Wrap(&err, "list plans")
	return pgconn.Collect(ctx, d.db, planRow.plan, selectPlan+` order by v.per_day, v.per_minute, l.position`, d.db.JustNow())
}

// Get returns the plan of that name, or plans.ErrPlanNotFound.
func (d Plans) Get(ctx context.Context, name string) (_ plans.Plan, err error) {
	defer pgconn.Wrap(&err, "get plan")
	return GetPlan(ctx, d.db, name, d.db.JustNow())
}

// GetPlan returns the plan with what is in force at that instant, or plans.ErrPlanNotFound.
func GetPlan(ctx context.Context, q pgconn.Queryer, name string, at sql.NullTime) (plans.Plan, error) {
	var row planRow
	err := q.Get(ctx, &row, selectPlan+` where l.name = $2`, at, name)
	if errors.Is(err, sql.ErrNoRows) {
		return plans.Plan{}, plans.ErrPlanNotFound
	}
	return row.plan(), err
}

// checkQuota checks whether the plan can be assigned at that instant, with the tenant's own numbers. It returns plans.ErrPlanNotFound,
// ErrPlanNotBegun, ErrPlanRetired, or what plans.Plan.Resolve does.
func checkQuota(ctx context.Context, tx pgconn.Tx, plan string, own *plans.Quota, at time.Time) error {
	p, err := GetPlan(ctx, tx, plan, pgconn.NullTime(at))
	switch {
	case err != nil:
		return err
	case p.From.After(at):
		return plans.ErrPlanNotBegun
	case !p.RetiresAt.IsZero() && !p.RetiresAt.After(at):
		return plans.ErrPlanRetired
	}
	_, err = p.Resolve(own)
	return err
}

// CountTenants returns how many tenants are on the plan.
func (d Plans) CountTenants(ctx context.Context, plan string) (_ int64, err error) {
	defer pgconn.Wrap(&err, "count tenants")
	var n int64
	err = d.db.Get(ctx, &n, `
		select count(*)
		from (select coalesce($2::timestamptz, now()) as instant) i
		join tenant_plans a on a.plan = $1
		where case when a.valid_from <= i.instant
		  then not exists (
		    select from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from and n.valid_from <= i.instant)
		  -- A tenant whose plan has not begun has the first one.
		  else not exists (select from tenant_plans e where e.tenant_id = a.tenant_id and e.valid_from < a.valid_from)
		end`, plan, d.db.JustNow())
	return n, err
}
