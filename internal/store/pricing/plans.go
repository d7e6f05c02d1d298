package pricing

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Plans reads the plans that are sold.
type Plans struct{ db *pgconn.DB }

// PriceList is the part of the plans that the API's role may read.
type PriceList struct{ db *pgconn.DB }

// Sold implements api.PriceList.
func (d PriceList) Sold(ctx context.Context) (_ []plans.Plan, err error) {
	defer pgconn.Wrap(&err, "list the plans that are sold")
	return pgconn.Collect(ctx, d.db, planRow.plan, `
		select name, title, version, per_minute, per_day, per_month, overage, overage_value from plans
		-- A plan that has not begun has no version in force.
		where version is not null and not unlisted and (retires_at is null or retires_at > now())
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
	Unlisted  bool          `db:"unlisted"`
	tenants.MonthColumns
}

func (r planRow) plan() plans.Plan {
	return plans.Plan{
		Name: r.Name, Quota: quotaOf(r.PerMinute, r.PerDay, r.MonthColumns), Version: r.Version, From: r.From.UTC(),
		Title: r.Title, Price: r.Price, RetiresAt: pgconn.TimeOf(r.RetiresAt), Unlisted: r.Unlisted,
	}
}

// quotaOf returns the quota of the columns of a version, nil for null.
func quotaOf(perMinute, perDay sql.NullInt64, month tenants.MonthColumns) *plans.Quota {
	if !perMinute.Valid || !perDay.Valid {
		return nil
	}
	return &plans.Quota{PerMinute: perMinute.Int64, PerDay: perDay.Int64, Month: month.InForce()}
}

// selectPlan selects plans with their numbers at the instant $1, null for now. A plan that has not
// begun has its first version's numbers.
const selectPlan = `
	select l.name, l.title, l.price, l.retires_at, l.unlisted, v.version, v.valid_from, v.per_minute, v.per_day,
	       v.per_month, v.overage, v.overage_value
	from (select coalesce($1::timestamptz, now()) as instant) i
	cross join price_list l
	cross join lateral (
	  select * from plan_versions v where v.plan = l.name
	  order by v.valid_from > i.instant, case when v.valid_from <= i.instant then v.valid_from end desc, v.valid_from
	  limit 1
	) v`

// List returns all plans, the smallest first, and those without numbers last.
func (d Plans) List(ctx context.Context) (_ []plans.Plan, err error) {
	defer pgconn.Wrap(&err, "list plans")
	return pgconn.Collect(
		ctx,
		d.db,
		planRow.plan,
		selectPlan+` order by v.per_day, v.per_minute, l.position`,
		d.db.JustNow(),
	)
}

// Get returns the plan with that name, or plans.ErrPlanNotFound.
func (d Plans) Get(ctx context.Context, name string) (_ plans.Plan, err error) {
	defer pgconn.Wrap(&err, "get plan")
	return GetPlan(ctx, d.db, name, d.db.JustNow())
}

// GetPlan returns the plan with what is in force at that instant, or plans.ErrPlanNotFound.
func GetPlan(ctx context.Context, q pgconn.Queryer, name string, at sql.NullTime) (plans.Plan, error) {
	var row planRow
	if err := pgconn.GetOr(ctx, q, &row, plans.ErrPlanNotFound, selectPlan+` where l.name = $2`, at, name); err != nil {
		return plans.Plan{}, err
	}
	return row.plan(), nil
}

// checkQuota checks whether the plan can be assigned at that instant, with the tenant's own
// numbers. It returns plans.ErrPlanNotFound, ErrPlanNotBegun, ErrPlanRetired, or an error of
// plans.Plan.Resolve.
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

// CountTenants returns the number of tenants on the plan.
func (d Plans) CountTenants(ctx context.Context, plan string) (_ int64, err error) {
	defer pgconn.Wrap(&err, "count tenants")
	var n int64
	err = d.db.Get(ctx, &n, `
		select count(*)
		from (select coalesce($2::timestamptz, now()) as instant) i
		join tenant_plans a on a.plan = $1
		where case when a.valid_from <= i.instant
		  then not exists (
		    select from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from and
		        n.valid_from <= i.instant)
		  -- A tenant whose plan has not begun has the first one.
		  else not exists (select from tenant_plans e where e.tenant_id = a.tenant_id and e.valid_from < a.valid_from)
		end`, plan, d.db.JustNow())
	return n, err
}

type versionRow struct {
	Plan       string        `db:"plan"`
	Number     int           `db:"version"`
	Generation int           `db:"generation"`
	PerMinute  sql.NullInt64 `db:"per_minute"`
	PerDay     sql.NullInt64 `db:"per_day"`
	From       time.Time     `db:"valid_from"`
	To         sql.NullTime  `db:"valid_to"`
	CreatedAt  time.Time     `db:"created_at"`
	CreatedBy  string        `db:"created_by"`
	Tenants    int64         `db:"tenants"`
	tenants.MonthColumns
}

func (r versionRow) version() plans.Version {
	return plans.Version{
		Plan:       r.Plan,
		Number:     r.Number,
		Generation: r.Generation,
		Quota:      quotaOf(r.PerMinute, r.PerDay, r.MonthColumns),
		From:       r.From.UTC(),
		To:         pgconn.TimeOf(r.To),
		CreatedAt:  r.CreatedAt.UTC(),
		CreatedBy:  r.CreatedBy,
		Tenants:    r.Tenants,
	}
}

// Versions returns the versions of a plan in order, or plans.ErrPlanNotFound. Each has the number
// of tenants that it binds now.
func (d Plans) Versions(ctx context.Context, plan string) (_ []plans.Version, err error) {
	defer pgconn.Wrap(&err, "list versions")
	list, err := pgconn.Collect(ctx, d.db, versionRow.version, `
		select v.plan, v.version, v.generation, v.per_minute, v.per_day, v.valid_from,
		       lead(v.valid_from) over (partition by v.generation order by v.version) as valid_to,
		       v.created_at, v.created_by, coalesce(q.tenants, 0) as tenants, v.per_month, v.overage, v.overage_value
		from plan_versions v
		left join (
		  select q.version, count(*) as tenants from quota_periods q
		  where q.plan = $1 and q.valid_from <= coalesce($2::timestamptz, now()) and (q.valid_to is null or q.valid_to
		      > coalesce($2::timestamptz, now()))
		  group by q.version
		) q on q.version = v.version
		where v.plan = $1 order by v.version`, plan, d.db.JustNow())
	if err == nil && len(list) == 0 {
		err = plans.ErrPlanNotFound
	}
	return list, err
}

// lockPlan returns the plan and its last version, and blocks other changes to it until the
// transaction ends.
func lockPlan(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, name string) (plans.Plan, plans.Version, error) {
	// This is a statement of its own, because a statement that has waited for a lock reads other
	// tables as they were before the wait.
	if _, err := tx.Exec(ctx, `select from price_list where name = $1 for no key update`, name); err != nil {
		return plans.Plan{}, plans.Version{}, err
	}
	plan, err := GetPlan(ctx, tx, name, db.JustNow())
	if err != nil {
		return plans.Plan{}, plans.Version{}, err
	}
	var last versionRow
	err = tx.Get(ctx, &last, `
		select plan, version, generation, per_minute, per_day, per_month, overage, overage_value, valid_from,
		       created_at, created_by
		from plan_versions where plan = $1 order by version desc limit 1`, name)
	return plan, last.version(), err
}

// followers returns the tenants that follow a plan's generation at an instant, except those with
// other numbers for a while.
func followers(
	ctx context.Context,
	q pgconn.Queryer,
	plan string,
	generation int,
	at time.Time,
) (ids []int64, err error) {
	err = q.Select(ctx, &ids, `
		select tenant_id from quota_periods
		where plan = $1 and generation = $2 and kind <> 'boost' and valid_from <= $3 and (valid_to is null or valid_to
			> $3)
		order by tenant_id`, plan, generation, at)
	return ids, err
}

// PlanSubject is the subject of audit entries about a plan.
func PlanSubject(plan string) string { return "plan:" + plan }

// planRecord is what an audit entry holds of a plan, and of the version that a change makes.
type planRecord struct {
	Title      string     `json:"title,omitempty"`
	Price      string     `json:"price,omitempty"`
	RetiresAt  *time.Time `json:"retires_at,omitempty"`
	Unlisted   bool       `json:"unlisted,omitempty"`
	Version    int        `json:"version"`
	Generation int        `json:"generation"`
	PerMinute  int64      `json:"per_minute,omitempty"`
	PerDay     int64      `json:"per_day,omitempty"`
	tenants.MonthRecord
	From time.Time `json:"valid_from"`
}

func recordPlan(p plans.Plan, v plans.Version) planRecord {
	r := planRecord{
		Title:      p.Title,
		Price:      p.Price,
		RetiresAt:  trail.TimeOrNil(p.RetiresAt),
		Unlisted:   p.Unlisted,
		Version:    v.Number,
		Generation: v.Generation,
		From:       v.From.UTC(),
	}
	if v.Quota != nil {
		r.PerMinute, r.PerDay = v.Quota.PerMinute, v.Quota.PerDay
		r.MonthRecord = tenants.RecordMonth(v.Quota.Month)
	}
	return r
}

// versionRules are the rules of check_plan_version.
var versionRules = map[string]error{
	"price_list_pkey":        plans.ErrPlanExists,
	"plans_pkey":             plans.ErrPlanExists,
	"plan_versions_past":     plans.ErrVersionPast,
	"plan_versions_begun":    plans.ErrVersionBegun,
	"plan_versions_followed": plans.ErrVersionFollowed,
	"servers_months":         plans.ErrMonthsOff,
}
