package pricing

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

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
}

func (r versionRow) version() plans.Version {
	return plans.Version{
		Plan: r.Plan, Number: r.Number, Generation: r.Generation, Quota: quotaOf(r.PerMinute, r.PerDay), From: r.From.UTC(), To: pgconn.TimeOf(r.To),
		CreatedAt: r.CreatedAt.UTC(), CreatedBy: r.CreatedBy, Tenants: r.Tenants,
	}
}

// Versions returns the versions of a plan in order, with the numbers of tenants that they bind now, or plans.ErrPlanNotFound.
func (d Plans) Versions(ctx context.Context, plan string) (_ []plans.Version, err error) {
	defer pgconn.Wrap(&err, "list versions")
	list, err := pgconn.Collect(ctx, d.db, versionRow.version, `
		select v.plan, v.version, v.generation, v.per_minute, v.per_day, v.valid_from,
		       lead(v.valid_from) over (partition by v.generation order by v.version) as valid_to,
		       v.created_at, v.created_by, coalesce(q.tenants, 0) as tenants
		from plan_versions v
		left join (
		  select q.version, count(*) as tenants from quota_periods q
		  where q.plan = $1 and q.valid_from <= coalesce($2::timestamptz, now()) and (q.valid_to is null or q.valid_to > coalesce($2::timestamptz, now()))
		  group by q.version
		) q on q.version = v.version
		where v.plan = $1 order by v.version`, plan, d.db.JustNow())
	if err == nil && len(list) == 0 {
		err = plans.ErrPlanNotFound
	}
	return list, err
}

// lockPlan returns the plan and its last version, and blocks other changes to it until the transaction ends.
func lockPlan(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, name string) (plans.Plan, plans.Version, error) {
	// A statement of its own: that which waited for the lock reads other tables as they were before.
	if _, err := tx.Exec(ctx, `select from price_list where name = $1 for no key update`, name); err != nil {
		return plans.Plan{}, plans.Version{}, err
	}
	plan, err := GetPlan(ctx, tx, name, db.JustNow())
	if err != nil {
		return plans.Plan{}, plans.Version{}, err
	}
	var last versionRow
	err = tx.Get(ctx, &last, `
		select plan, version, generation, per_minute, per_day, valid_from, created_at, created_by
		from plan_versions where plan = $1 order by version desc limit 1`, name)
	return plan, last.version(), err
}

// followers returns the tenants that follow the generation of a plan at an instant, without those that have other numbers for a while.
func followers(ctx context.Context, q pgconn.Queryer, plan string, generation int, at time.Time) (ids []int64, err error) {
	err = q.Select(ctx, &ids, `
		select tenant_id from quota_periods
		where plan = $1 and generation = $2 and kind <> 'boost' and valid_from <= $3 and (valid_to is null or valid_to > $3)
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
	Version    int        `json:"version"`
	Generation int        `json:"generation"`
	PerMinute  int64      `json:"per_minute,omitempty"`
	PerDay     int64      `json:"per_day,omitempty"`
	From       time.Time  `json:"valid_from"`
}

func recordPlan(p plans.Plan, v plans.Version) planRecord {
	r := planRecord{
		Title: p.Title, Price: p.Price, RetiresAt: trail.TimeOrNil(p.RetiresAt), Version: v.Number, Generation: v.Generation, From: v.From.UTC(),
	}
	if v.Quota != nil {
		r.PerMinute, r.PerDay = v.Quota.PerMinute, v.Quota.PerDay
	}
	return r
}

// versionError translates the rules of check_plan_version.
func versionError(err error) error {
	for constraint, meaning := range map[string]error{
		"price_list_pkey":        plans.ErrPlanExists,
		"plans_pkey":             plans.ErrPlanExists,
		"plan_versions_past":     plans.ErrVersionPast,
		"plan_versions_begun":    plans.ErrVersionBegun,
		"plan_versions_followed": plans.ErrVersionFollowed,
	} {
		if pgconn.IsConstraint(err, constraint) {
			return errors.Join(meaning, err)
		}
	}
	return err
}
