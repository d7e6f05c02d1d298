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

// AssignPlan puts the tenant on a plan from now on and returns the tenant before and after. A plan without a quota needs the
// tenant's own; others take none. When the plan and the quota are in force already nothing is changed or audited, and before
// and after are equal. It returns plans.ErrTenantNotFound, ErrPlanNotFound, ErrQuotaRequired, ErrQuotaFixed, or what is
// wrong with the quota.
func (d Tenants) AssignPlan(
	ctx context.Context, by audit.By, tenant, plan string, own *plans.Quota, now time.Time,
) (before, after plans.Tenant, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if before, err = lockTenant(ctx, tx, tenant); err != nil {
			return err
		}
		quota, err := resolveQuota(ctx, tx, plan, own)
		if err != nil {
			return err
		}
		if before.Plan == plan && before.Quota == quota {
			after = before
			return nil
		}
		if after, err = switchPlan(ctx, tx, before, plan, own, quota, now); err != nil {
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

func switchPlan(
	ctx context.Context, tx pgconn.Tx, t plans.Tenant, plan string, own *plans.Quota, quota plans.Quota, now time.Time,
) (plans.Tenant, error) {
	perMinute, perDay := ownColumns(own)
	_, err := tx.Exec(ctx, `update tenants set plan = $2, per_minute = $3, per_day = $4 where id = $1`,
		t.ID, plan, perMinute, perDay)
	if err != nil {
		return plans.Tenant{}, err
	}
	since, err := closePlan(ctx, tx, t.ID, now)
	if err != nil {
		return plans.Tenant{}, err
	}
	if err := openPlan(ctx, tx, t.ID, plan, quota, since); err != nil {
		return plans.Tenant{}, err
	}
	return getTenant(ctx, tx, t.Name, "")
}

// closePlan ends the current plan in the tenant's history, and returns when: now, but always after the plan began, even when
// the clocks of two machines differ. The next plan begins then.
func closePlan(ctx context.Context, tx pgconn.Tx, tenantID int64, now time.Time) (time.Time, error) {
	end := now
	err := tx.Get(ctx, &end, `
		update tenant_plans set valid_to = greatest($2, valid_from + interval '1 microsecond')
		where tenant_id = $1 and valid_to is null
		returning valid_to`, tenantID, now)
	if errors.Is(err, sql.ErrNoRows) {
		return now, nil
	}
	return end, err
}
