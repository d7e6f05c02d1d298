package tenancy

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Tenants stores tenants and the history of their plans.
type Tenants struct{ db *pgconn.DB }

// NewTenant is a tenant before it has an id.
type NewTenant struct {
	Name string
	Plan string
	// Own is the tenant's own quota, which Enterprise needs and other plans refuse.
	Own *plans.Quota
	// Until returns the end of a trial that begins at an instant; nil for a plan without an end.
	// Then is the plan that follows a trial, which needs one.
	Until func(from time.Time) time.Time
	Then  string
	plans.Profile
}

// Create adds a tenant and assigns its plan at that instant; the zero time stands for now. It
// returns plans.ErrTenantName, ErrTenantExists, ErrPlanNotFound, ErrPlanRetired, ErrQuotaRequired,
// ErrQuotaFixed, ErrThenQuota or ErrNoTime, or says what is wrong with the numbers or the profile.
func (d Tenants) Create(ctx context.Context, by audit.By, n NewTenant, at time.Time) (_ plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "create tenant")
	if err := plans.CheckTenantName(n.Name); err != nil {
		return plans.Tenant{}, err
	}
	if err := checkProfile(n.Profile); err != nil {
		return plans.Tenant{}, err
	}
	var created plans.Tenant
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) (err error) {
		if at, err = pgconn.Instant(ctx, d.db, tx, at); err != nil {
			return err
		}
		first := plans.Assignment{Kind: plans.Assigned, Plan: n.Plan, Own: n.Own.Agreed(), From: at, Then: n.Then}
		if n.Until != nil {
			first.Until = n.Until(at)
		}
		if err := pricing.CheckPlans(ctx, tx, first, ""); err != nil {
			return err
		}
		if created, err = insertTenant(ctx, tx, n, first); err != nil {
			return err
		}
		after := RecordTenant(plans.Tenant{}, created)
		after.Until, after.Then = trail.TimeOrNil(first.Until), first.Then
		return trail.Write(tx, by, trail.Entry{
			Action: "tenant.create", TenantID: created.ID, Subject: audit.TenantSubject(created.ID), After: after,
		})
	})
	return created, err
}

func insertTenant(ctx context.Context, tx pgconn.Tx, n NewTenant, first plans.Assignment) (plans.Tenant, error) {
	c, err := plans.Begin(first)
	if err != nil {
		return plans.Tenant{}, err
	}
	var id int64
	err = tx.Get(ctx, &id, `
		insert into tenants (name, created_at, billing_ref, email, contact, notes)
		values ($1, $2, nullif($3, ''), nullif($4, ''), nullif($5, ''), nullif($6, '')) returning id`,
		n.Name, first.From, n.BillingRef, n.Email, n.Contact, n.Notes)
	if pgconn.IsConstraint(err, "tenants_name_key") {
		return plans.Tenant{}, plans.ErrTenantExists
	}
	if err != nil {
		return plans.Tenant{}, err
	}
	if _, err := pricing.ApplyChange(ctx, tx, id, c); err != nil {
		return plans.Tenant{}, err
	}
	return tenants.Get(ctx, tx, n.Name, pgconn.NullTime(first.From))
}

// Get returns the tenant with that name or number, or plans.ErrTenantNotFound.
func (d Tenants) Get(ctx context.Context, name string) (_ plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "get tenant")
	return tenants.Get(ctx, d.db, name, d.db.JustNow())
}

// Names returns at most limit names that begin with the prefix, in order.
func (d Tenants) Names(ctx context.Context, prefix string, limit int) (_ []string, err error) {
	defer pgconn.Wrap(&err, "list tenant names")
	var names []string
	err = d.db.Select(ctx, &names, `
		select name from tenants where starts_with(name, $1) and erased_at is null order by name limit $2`, prefix,
		limit)
	return names, err
}

// Suspend makes the API refuse the tenant's keys from that instant on; the zero time stands for
// now. It returns plans.ErrTenantNotFound, or ErrTenantSuspended if the tenant is already
// suspended.
func (d Tenants) Suspend(ctx context.Context, by audit.By, name string, at time.Time) (plans.Tenant, error) {
	return d.setSuspended(ctx, by, "tenant.suspend", name, true, at)
}

// Resume ends a suspension. It returns plans.ErrTenantNotFound or ErrTenantNotSuspended.
func (d Tenants) Resume(ctx context.Context, by audit.By, name string) (plans.Tenant, error) {
	return d.setSuspended(ctx, by, "tenant.resume", name, false, time.Time{})
}

func (d Tenants) setSuspended(
	ctx context.Context, by audit.By, action, name string, suspend bool, at time.Time,
) (after plans.Tenant, err error) {
	defer pgconn.Wrap(&err, action)
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := tenants.Lock(ctx, tx, name, d.db.JustNow())
		if err != nil {
			return err
		}
		switch {
		case suspend && !before.SuspendedAt.IsZero():
			return plans.ErrTenantSuspended
		case !suspend && before.SuspendedAt.IsZero():
			return plans.ErrTenantNotSuspended
		case suspend:
			// The store's clock ends the suspension, and decides in which month it counts.
			if at, err = pgconn.Instant(ctx, d.db, tx, at); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(
			ctx,
			`update tenants set suspended_at = $2 where id = $1`,
			before.ID,
			pgconn.NullTime(at),
		); err != nil {
			return err
		}
		if after, err = tenants.Get(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: action, TenantID: before.ID, Subject: audit.TenantSubject(before.ID),
			Before: RecordTenant(before, before), After: RecordTenant(before, after),
		})
	})
	return after, err
}

// TenantEdit is a change of a tenant's name and profile. Nil leaves a member unchanged; "" removes
// it, except the name.
type TenantEdit struct{ Name, BillingRef, Email, Contact, Notes *string }

// Edit changes a tenant. Servers are notified of a new name. It returns plans.ErrTenantNotFound,
// ErrTenantName, ErrTenantExists for another tenant's name, or an error of plans.Profile.Check or
// keys.CheckText. If nothing changes, there is no audit entry, and before and after have the same
// values.
func (d Tenants) Edit(
	ctx context.Context,
	by audit.By,
	name string,
	e TenantEdit,
) (before, after plans.Tenant, err error) {
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
			Action:   "tenant.edit",
			TenantID: before.ID,
			Subject:  audit.TenantSubject(before.ID),
			Before: RecordTenant(
				before,
				before,
			),
			After:  RecordTenant(before, after),
			Hidden: hiddenOfTenant(before, after),
		})
	})
	return before, after, err
}

// Ask has a server ask the tenant's address to confirm. It returns false if it will do so anyway, or
// plans.ErrTenantNotFound, ErrNoEmail, ErrEmailConfirmed or ErrEmailAsked.
func (d Tenants) Ask(ctx context.Context, by audit.By, name string) (t plans.Tenant, asked bool, err error) {
	defer pgconn.Wrap(&err, "ask the address of a tenant")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if t, err = tenants.Lock(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		if err := trail.CheckTexts(by); err != nil {
			return err
		}
		// The function also writes the audit entry.
		err := tx.Get(ctx, &asked, `select ask_mailbox($1, $2, $3)`, t.ID, by.Actor, by.Reason)
		return pgconn.Meaning(err, map[string]error{
			"mail_none": plans.ErrNoEmail, "mail_confirmed": plans.ErrEmailConfirmed, "mail_asked": plans.ErrEmailAsked,
		})
	})
	return t, asked, err
}

// EmailState says where the tenant's address stands: waiting, confirmed, refused or unsubscribed; ""
// if it was not asked.
func (d Tenants) EmailState(ctx context.Context, tenantID int64) (state string, err error) {
	defer pgconn.Wrap(&err, "read the state of an address")
	err = d.db.Get(ctx, &state, `select coalesce((select state from mailboxes where tenant_id = $1), '')`, tenantID)
	return state, err
}

// apply returns the tenant with the change applied.
func (e TenantEdit) apply(t plans.Tenant) plans.Tenant {
	for _, m := range []struct{ edit, value *string }{
		{e.Name, &t.Name}, {e.BillingRef, &t.BillingRef}, {e.Email, &t.Email}, {e.Contact, &t.Contact},
		{e.Notes, &t.Notes},
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
	for member, text := range map[string]string{"contact": p.Contact, "notes": p.Notes,
		"billing reference": p.BillingRef, "e-mail address": p.Email} {
		if err := keys.CheckText(text); err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
	}
	return nil
}

// updateTenant stores the name and the profile.
func updateTenant(ctx context.Context, tx pgconn.Tx, t plans.Tenant) error {
	// The name is set only if it differs, because servers are notified when it is set.
	_, err := tx.Exec(ctx, `
		update tenants set billing_ref = nullif($2, ''), email = nullif($3, ''), contact = nullif($4, ''), notes =
			nullif($5, '')
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
