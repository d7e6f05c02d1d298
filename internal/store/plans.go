package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Plans reads the plans that are sold.
type Plans struct{ db *pgconn.DB }

type planRow struct {
	Name      string        `db:"name"`
	PerMinute sql.NullInt64 `db:"per_minute"`
	PerDay    sql.NullInt64 `db:"per_day"`
}

func (r planRow) plan() plans.Plan {
	p := plans.Plan{Name: r.Name}
	if r.PerMinute.Valid && r.PerDay.Valid {
		p.Quota = &plans.Quota{PerMinute: r.PerMinute.Int64, PerDay: r.PerDay.Int64}
	}
	return p
}

// List returns all plans, the smallest first.
func (d Plans) List(ctx context.Context) ([]plans.Plan, error) {
	list, err := pgconn.Collect(ctx, d.db, planRow.plan, `select name, per_minute, per_day from plans order by position`)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return list, nil
}

// Get returns the plan of that name, or plans.ErrPlanNotFound.
func (d Plans) Get(ctx context.Context, name string) (plans.Plan, error) {
	p, err := getPlan(ctx, d.db, name)
	if err != nil {
		return plans.Plan{}, fmt.Errorf("get plan: %w", err)
	}
	return p, nil
}

func getPlan(ctx context.Context, q pgconn.Queryer, name string) (plans.Plan, error) {
	var row planRow
	err := q.Get(ctx, &row, `select name, per_minute, per_day from plans where name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return plans.Plan{}, plans.ErrPlanNotFound
	}
	return row.plan(), err
}

func resolveQuota(ctx context.Context, tx pgconn.Tx, plan string, own *plans.Quota) (plans.Quota, error) {
	p, err := getPlan(ctx, tx, plan)
	if err != nil {
		return plans.Quota{}, err
	}
	return p.Resolve(own)
}

// CountTenants returns how many tenants are on the plan.
func (d Plans) CountTenants(ctx context.Context, plan string) (int64, error) {
	var n int64
	if err := d.db.Get(ctx, &n, `select count(*) from tenants where plan = $1`, plan); err != nil {
		return 0, fmt.Errorf("count tenants: %w", err)
	}
	return n, nil
}
