package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// AssignPlan puts the tenant on a plan from an instant on, or from now on for the zero time, and returns the tenant before and after
// that instant. A plan without a quota needs the tenant's own; others take none. When the plan and the quota are in force already
// nothing is changed or audited, and before and after are equal. It returns plans.ErrTenantNotFound, ErrPlanNotFound,
// ErrQuotaRequired, ErrQuotaFixed, or what is wrong with the quota.
func (d Tenants) AssignPlan(
	ctx context.Context, by audit.By, tenant, plan string, own *plans.Quota, at time.Time,
) (before, after plans.Tenant, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if before, err = lockTenant(ctx, tx, tenant, nullTime(at)); err != nil {
			return err
		}
		if at, err = nextInstant(ctx, d.db, tx, before.ID, at); err != nil {
			return err
		}
		if before, err = getTenant(ctx, tx, tenant, nullTime(at)); err != nil {
			return err
		}
		quota, err := resolveQuota(ctx, tx, plan, own, at)
		if err != nil {
			return err
		}
		if before.Plan == plan && before.Quota == quota {
			after = before
			return nil
		}
		added := plans.TimelineChange{Add: []plans.Assignment{{Plan: plan, Own: own, From: at}}}
		if _, err := changeTimeline(ctx, tx, before.ID, added); err != nil {
			return err
		}
		if after, err = getTenant(ctx, tx, tenant, nullTime(at)); err != nil {
			return err
		}
		return writeAudit(ctx, tx, by, auditEntry{
			action: "plan.assign", tenantID: before.ID, subject: audit.TenantSubject(before.ID),
			before: recordTenant(before, before), after: recordTenant(before, after),
		})
	})
	if err != nil {
		return plans.Tenant{}, plans.Tenant{}, fmt.Errorf("assign plan: %w", err)
	}
	return before, after, nil
}

// instant returns the instant, or for the zero time now.
func instant(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, at time.Time) (time.Time, error) {
	if !at.IsZero() {
		return at, nil
	}
	// Not the beginning of the transaction, which may have waited for a lock.
	err := tx.Get(ctx, &at, `select coalesce($1::timestamptz, clock_timestamp())`, db.Now())
	return at.UTC(), err
}

// nextInstant is instant, or the first one after it at which an assignment of the tenant may begin: none begins then, and one has before.
func nextInstant(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, tenantID int64, at time.Time) (time.Time, error) {
	at, err := instant(ctx, db, tx, at)
	if err != nil {
		return at, err
	}
	err = tx.Get(ctx, &at, `
		with recursive free as (
		  select greatest($2, min(valid_from)) as at from tenant_plans where tenant_id = $1
		  union all
		  select at + interval '1 microsecond' from free
		  where exists (select from tenant_plans a where a.tenant_id = $1 and a.valid_from = free.at)
		)
		select max(at) from free`, tenantID, at)
	return at.UTC(), err
}

// changeTimeline changes the assignments of a tenant, which must be locked, and returns the IDs of the new ones.
func changeTimeline(ctx context.Context, tx pgconn.Tx, tenantID int64, c plans.TimelineChange) ([]int64, error) {
	for _, id := range c.Remove {
		if _, err := tx.Exec(ctx, `delete from tenant_plans where tenant_id = $1 and id = $2`, tenantID, id); err != nil {
			return nil, err
		}
	}
	ids := make([]int64, len(c.Add))
	for i, a := range c.Add {
		if a.Kind == "" {
			a.Kind = plans.Assigned
		}
		if a.Kind == plans.End && a.Ends == 0 && i > 0 {
			a.Ends = ids[i-1]
		}
		perMinute, perDay := ownColumns(a.Own)
		err := tx.Get(ctx, &ids[i], `
			insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day, generation, kind, ends)
			values ($1, $2, $3, $4, $5, nullif($6::integer, 0), $7, nullif($8::bigint, 0)) returning id`,
			tenantID, a.From, a.Plan, perMinute, perDay, a.Generation, a.Kind, a.Ends)
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// ownColumns are an assignment's own numbers as column values: null for those of the plan.
func ownColumns(own *plans.Quota) (perMinute, perDay sql.NullInt64) {
	if own == nil {
		return perMinute, perDay
	}
	return sql.NullInt64{Int64: own.PerMinute, Valid: true}, sql.NullInt64{Int64: own.PerDay, Valid: true}
}
