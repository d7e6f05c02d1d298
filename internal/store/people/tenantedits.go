package people

import (
	"context"
	"fmt"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// TenantEdit is a change of a tenant's name and profile. What is nil stays; "" removes, but not the name.
type TenantEdit struct{ Name, BillingRef, Email, Contact, Notes *string }

// Edit changes a tenant. Servers hear of another name as of any change. It returns plans.ErrTenantNotFound, ErrTenantName, ErrTenantExists
// for a name that another tenant has, or what plans.Profile.Check and keys.CheckText do. What changes nothing is not audited, and before
// and after have the same values.
func (d Tenants) Edit(ctx context.Context, by audit.By, name string, e TenantEdit) (before, after plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "edit tenant")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if before, err = tenants.Lock(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		after = e.apply(before)
		if after.Name == before.Name && after.Profile == before.Profile {
			return nil
		}
		if err := plans.CheckTenantName(after.Name); err != nil {
			return err
		}
		if err := checkProfile(after.Profile); err != nil {
			return err
		}
		if err := updateTenant(ctx, tx, after); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "tenant.edit", TenantID: before.ID, Subject: audit.TenantSubject(before.ID),
			Before: RecordTenant(before, before), After: RecordTenant(before, after), Hidden: hiddenOfTenant(before, after),
		})
	})
	return before, after, err
}

// apply returns the tenant with the change applied.
func (e TenantEdit) apply(t plans.Tenant) plans.Tenant {
	for _, m := range []struct{ edit, value *string }{
		{e.Name, &t.Name}, {e.BillingRef, &t.BillingRef}, {e.Email, &t.Email}, {e.Contact, &t.Contact}, {e.Notes, &t.Notes},
	} {
		if m.edit != nil {
			*m.value = *m.edit
		}
	}
	return t
}

func checkProfile(p plans.Profile) error {
	if err := p.Check(); err != nil {
		return err
	}
	for member, text := range map[string]string{"contact": p.Contact, "notes": p.Notes, "billing reference": p.BillingRef, "e-mail address": p.Email} {
		if err := keys.CheckText(text); err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
	}
	return nil
}

// updateTenant stores the name and the profile.
func updateTenant(ctx context.Context, tx pgconn.Tx, t plans.Tenant) error {
	// The name is set only if it differs: servers are told of it.
	_, err := tx.Exec(ctx, `
		update tenants set billing_ref = nullif($2, ''), email = nullif($3, ''), contact = nullif($4, ''), notes = nullif($5, '')
		where id = $1`, t.ID, t.BillingRef, t.Email, t.Contact, t.Notes)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `update tenants set name = $2 where id = $1 and name <> $2`, t.ID, t.Name)
	if pgconn.IsConstraint(err, "tenants_name_key") {
		return plans.ErrTenantExists
	}
	return err
}
