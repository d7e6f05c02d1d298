package store

import (
	"context"
	"fmt"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// TenantEdit is a change of how a tenant is billed. What is nil stays; "" removes.
type TenantEdit struct{ BillingRef, Email *string }

// Edit changes a tenant. It returns plans.ErrTenantNotFound, ErrBillingRef or ErrEmail. What changes nothing is not
// audited, and before and after have the same values.
func (d Tenants) Edit(ctx context.Context, by audit.By, name string, e TenantEdit) (before, after plans.Tenant, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if before, err = lockTenant(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		after = before
		if e.BillingRef != nil {
			after.BillingRef = *e.BillingRef
		}
		if e.Email != nil {
			after.Email = *e.Email
		}
		if after.BillingRef == before.BillingRef && after.Email == before.Email {
			return nil
		}
		if err := plans.CheckContact(after.BillingRef, after.Email); err != nil {
			return err
		}
		if err := keys.CheckText(after.BillingRef + " " + after.Email); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update tenants set billing_ref = nullif($2, ''), email = nullif($3, '') where id = $1`,
			before.ID, after.BillingRef, after.Email)
		if err != nil {
			return err
		}
		return writeAudit(ctx, tx, by, auditEntry{
			action: "tenant.edit", tenantID: before.ID, subject: audit.TenantSubject(before.ID),
			before: recordTenant(before, before), after: recordTenant(before, after),
		})
	})
	if err != nil {
		return plans.Tenant{}, plans.Tenant{}, fmt.Errorf("edit tenant: %w", err)
	}
	return before, after, nil
}
