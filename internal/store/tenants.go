package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Tenants stores tenants and the history of their plans.
type Tenants struct{ db *pgconn.DB }

const (
	// tenantQuota is the quota of tenants t on plans p: the plan's if it has one, else the tenant's own.
	tenantQuota = `coalesce(p.per_minute, t.per_minute) as per_minute, coalesce(p.per_day, t.per_day) as per_day`

	selectTenant = `
	select t.id, t.name, t.plan, ` + tenantQuota + `, t.suspended_at, t.created_at
	from tenants t join plans p on p.name = t.plan`
)

type tenantRow struct {
	ID          int64        `db:"id"`
	Name        string       `db:"name"`
	Plan        string       `db:"plan"`
	PerMinute   int64        `db:"per_minute"`
	PerDay      int64        `db:"per_day"`
	SuspendedAt sql.NullTime `db:"suspended_at"`
	CreatedAt   time.Time    `db:"created_at"`
}

func (r tenantRow) tenant() plans.Tenant {
	return plans.Tenant{
		ID: r.ID, Name: r.Name, Plan: r.Plan, Quota: plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay},
		SuspendedAt: timeOf(r.SuspendedAt), CreatedAt: r.CreatedAt.UTC(),
	}
}

// NewTenant is a tenant before it has an id.
type NewTenant struct {
	Name string
	Plan string
	// Own is the tenant's own quota, which Enterprise needs and other plans refuse.
	Own *plans.Quota
}

// Create adds a tenant and begins its plan history. It returns plans.ErrTenantName, ErrTenantExists,
// ErrPlanNotFound, ErrQuotaRequired or ErrQuotaFixed, or what is wrong with the numbers.
func (d Tenants) Create(ctx context.Context, by audit.By, n NewTenant, now time.Time) (plans.Tenant, error) {
	if err := plans.CheckTenantName(n.Name); err != nil {
		return plans.Tenant{}, fmt.Errorf("create tenant: %w", err)
	}
	var created plans.Tenant
	err := change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) (err error) {
		quota, err := resolveQuota(ctx, tx, n.Plan, n.Own)
		if err != nil {
			return err
		}
		if created, err = insertTenant(ctx, tx, n, now); err != nil {
			return err
		}
		if err := openPlan(ctx, tx, created.ID, n.Plan, quota, now); err != nil {
			return err
		}
		return writeAudit(ctx, tx, by, auditEntry{
			action: "tenant.create", tenantID: created.ID, subject: audit.TenantSubject(created.ID),
			after: recordTenant(plans.Tenant{}, created),
		})
	})
	if err != nil {
		return plans.Tenant{}, fmt.Errorf("create tenant: %w", err)
	}
	return created, nil
}

func insertTenant(ctx context.Context, tx pgconn.Tx, n NewTenant, now time.Time) (plans.Tenant, error) {
	perMinute, perDay := ownColumns(n.Own)
	_, err := tx.Exec(ctx, `
		insert into tenants (name, plan, per_minute, per_day, created_at) values ($1, $2, $3, $4, $5)`,
		n.Name, n.Plan, perMinute, perDay, now)
	if pgconn.IsConstraint(err, "tenants_name_key") {
		return plans.Tenant{}, plans.ErrTenantExists
	}
	if err != nil {
		return plans.Tenant{}, err
	}
	return getTenant(ctx, tx, n.Name, "")
}

// openPlan begins a plan in the tenant's history.
func openPlan(ctx context.Context, tx pgconn.Tx, tenantID int64, plan string, q plans.Quota, since time.Time) error {
	_, err := tx.Exec(ctx, `
		insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day) values ($1, $2, $3, $4, $5)`,
		tenantID, since, plan, q.PerMinute, q.PerDay)
	return err
}

// ownColumns are a tenant's own numbers as column values: null for a plan with numbers of its own.
func ownColumns(own *plans.Quota) (perMinute, perDay sql.NullInt64) {
	if own == nil {
		return perMinute, perDay
	}
	return sql.NullInt64{Int64: own.PerMinute, Valid: true}, sql.NullInt64{Int64: own.PerDay, Valid: true}
}

// Get returns the tenant of that name, or plans.ErrTenantNotFound.
func (d Tenants) Get(ctx context.Context, name string) (plans.Tenant, error) {
	t, err := getTenant(ctx, d.db, name, "")
	if err != nil {
		return plans.Tenant{}, fmt.Errorf("get tenant: %w", err)
	}
	return t, nil
}

// lockTenant returns the tenant and blocks other changes to it, and to the number of its keys, until the transaction ends.
// Rows that refer to it can still be written.
func lockTenant(ctx context.Context, tx pgconn.Tx, name string) (plans.Tenant, error) {
	return getTenant(ctx, tx, name, "for no key update of t")
}

func getTenant(ctx context.Context, q pgconn.Queryer, name, lock string) (plans.Tenant, error) {
	var row tenantRow
	err := q.Get(ctx, &row, selectTenant+` where t.name = $1 `+lock, name)
	if errors.Is(err, sql.ErrNoRows) {
		return plans.Tenant{}, plans.ErrTenantNotFound
	}
	return row.tenant(), err
}

// checkTenant returns plans.ErrTenantNotFound for a name that no tenant has. The empty name stands for all tenants.
func checkTenant(ctx context.Context, q pgconn.Queryer, name string) error {
	if name == "" {
		return nil
	}
	_, err := getTenant(ctx, q, name, "")
	return err
}

// List returns at most limit tenants in order of name.
func (d Tenants) List(ctx context.Context, limit int) ([]plans.Tenant, error) {
	tenants, err := pgconn.Collect(ctx, d.db, tenantRow.tenant, selectTenant+` order by t.name limit $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return tenants, nil
}

// Names returns at most limit names that begin with the prefix, in order.
func (d Tenants) Names(ctx context.Context, prefix string, limit int) ([]string, error) {
	var names []string
	err := d.db.Select(ctx, &names, `
		select name from tenants where starts_with(name, $1) order by name limit $2`, prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("list tenant names: %w", err)
	}
	return names, nil
}

// Suspend makes the API refuse the tenant's keys. It returns plans.ErrTenantNotFound, or ErrTenantSuspended when the tenant is
// suspended already.
func (d Tenants) Suspend(ctx context.Context, by audit.By, name string, now time.Time) (plans.Tenant, error) {
	return d.setSuspended(ctx, by, "tenant.suspend", name, nullTime(now))
}

// Resume ends a suspension. It returns plans.ErrTenantNotFound or ErrTenantNotSuspended.
func (d Tenants) Resume(ctx context.Context, by audit.By, name string) (plans.Tenant, error) {
	return d.setSuspended(ctx, by, "tenant.resume", name, sql.NullTime{})
}

func (d Tenants) setSuspended(
	ctx context.Context, by audit.By, action, name string, at sql.NullTime,
) (after plans.Tenant, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockTenant(ctx, tx, name)
		if err != nil {
			return err
		}
		if at.Valid && !before.SuspendedAt.IsZero() {
			return plans.ErrTenantSuspended
		}
		if !at.Valid && before.SuspendedAt.IsZero() {
			return plans.ErrTenantNotSuspended
		}
		if _, err = tx.Exec(ctx, `update tenants set suspended_at = $2 where id = $1`, before.ID, at); err != nil {
			return err
		}
		if after, err = getTenant(ctx, tx, name, ""); err != nil {
			return err
		}
		return writeAudit(ctx, tx, by, auditEntry{
			action: action, tenantID: before.ID, subject: audit.TenantSubject(before.ID),
			before: recordTenant(before, before), after: recordTenant(before, after),
		})
	})
	if err != nil {
		return plans.Tenant{}, fmt.Errorf("%s: %w", action, err)
	}
	return after, nil
}
