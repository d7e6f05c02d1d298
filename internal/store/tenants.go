package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Tenants stores tenants and the history of their plans.
type Tenants struct{ db *pgconn.DB }

// selectTenant selects tenants with what is in force for them at the instant $1, null for now. A tenant whose plan has not begun has
// the first one.
const selectTenant = `
	select t.id, t.name, q.plan, q.assignment, q.version, q.kind, q.per_minute, q.per_day, t.suspended_at, t.created_at,
	       coalesce(t.billing_ref, '') as billing_ref, coalesce(t.email, '') as email, coalesce(t.contact, '') as contact,
	       coalesce(t.notes, '') as notes, q.valid_to,
	       n.plan as next_plan, n.assignment as next_assignment, n.version as next_version, n.kind as next_kind,
	       n.per_minute as next_per_minute, n.per_day as next_per_day
	from tenants t cross join lateral (
	  select q.* from quota_periods q
	  where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > coalesce($1::timestamptz, now()))
	  order by q.valid_from limit 1
	) q
	left join lateral (select n.* from quota_periods n where n.tenant_id = t.id and n.valid_from = q.valid_to) n on true`

type tenantRow struct {
	ID          int64        `db:"id"`
	Name        string       `db:"name"`
	Plan        string       `db:"plan"`
	Assignment  int64        `db:"assignment"`
	Version     int          `db:"version"`
	PerMinute   int64        `db:"per_minute"`
	PerDay      int64        `db:"per_day"`
	SuspendedAt sql.NullTime `db:"suspended_at"`
	CreatedAt   time.Time    `db:"created_at"`
	Kind        plans.Kind   `db:"kind"`
	BillingRef  string       `db:"billing_ref"`
	Email       string       `db:"email"`
	Contact     string       `db:"contact"`
	Notes       string       `db:"notes"`
	Until       sql.NullTime `db:"valid_to"`

	NextPlan       sql.NullString `db:"next_plan"`
	NextAssignment sql.NullInt64  `db:"next_assignment"`
	NextVersion    sql.NullInt64  `db:"next_version"`
	NextKind       sql.NullString `db:"next_kind"`
	NextPerMinute  sql.NullInt64  `db:"next_per_minute"`
	NextPerDay     sql.NullInt64  `db:"next_per_day"`
}

func (r tenantRow) tenant() plans.Tenant {
	t := plans.Tenant{
		ID: r.ID, Name: r.Name, Plan: r.Plan, Assignment: r.Assignment, Version: r.Version, Kind: r.Kind,
		Quota:       plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay},
		SuspendedAt: timeOf(r.SuspendedAt), CreatedAt: r.CreatedAt.UTC(), Until: timeOf(r.Until),
		Profile: plans.Profile{BillingRef: r.BillingRef, Email: r.Email, Contact: r.Contact, Notes: r.Notes},
	}
	if r.NextPlan.Valid {
		next := t
		next.Plan, next.Assignment, next.Version, next.Kind = r.NextPlan.String, r.NextAssignment.Int64, int(r.NextVersion.Int64), plans.Kind(r.NextKind.String)
		next.Quota, next.Until = plans.Quota{PerMinute: r.NextPerMinute.Int64, PerDay: r.NextPerDay.Int64}, time.Time{}
		t.Next = &next
	}
	return t
}

// NewTenant is a tenant before it has an id.
type NewTenant struct {
	Name string
	Plan string
	// Own is the tenant's own quota, which Enterprise needs and other plans refuse.
	Own *plans.Quota
	// Until returns when a trial ends that begins at an instant; nil for a plan for good. Then is the plan that follows, which a trial needs.
	Until func(from time.Time) time.Time
	Then  string
	plans.Profile
}

// Create adds a tenant and assigns its plan, at that instant or, for the zero time, now. It returns plans.ErrTenantName,
// ErrTenantExists, ErrPlanNotFound, ErrPlanRetired, ErrQuotaRequired, ErrQuotaFixed, ErrThenQuota or ErrNoTime, or what is wrong with the
// numbers or the profile.
func (d Tenants) Create(ctx context.Context, by audit.By, n NewTenant, at time.Time) (_ plans.Tenant, err error) {
	defer wrap(&err, "create tenant")
	if err := plans.CheckTenantName(n.Name); err != nil {
		return plans.Tenant{}, err
	}
	if err := checkProfile(n.Profile); err != nil {
		return plans.Tenant{}, err
	}
	var created plans.Tenant
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) (err error) {
		if at, err = instant(ctx, d.db, tx, at); err != nil {
			return err
		}
		first := plans.Assignment{Kind: plans.Assigned, Plan: n.Plan, Own: n.Own, From: at, Then: n.Then}
		if n.Until != nil {
			first.Until = n.Until(at)
		}
		if err := checkPlans(ctx, tx, first, ""); err != nil {
			return err
		}
		if created, err = insertTenant(ctx, tx, n, first); err != nil {
			return err
		}
		after := recordTenant(plans.Tenant{}, created)
		after.Until, after.Then = timeOrNil(first.Until), first.Then
		return writeAudit(tx, by, auditEntry{
			action: "tenant.create", tenantID: created.ID, subject: audit.TenantSubject(created.ID), after: after,
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
	if _, err := applyChange(ctx, tx, id, c); err != nil {
		return plans.Tenant{}, err
	}
	return getTenant(ctx, tx, n.Name, nullTime(first.From))
}

const (
	// tenantNamed is the condition for the tenant t with the name $1 or, if there is none, the number $2: see tenantArgs.
	tenantNamed = `t.id = coalesce((select n.id from tenants n where n.name = $1), $2)`
	// tenantNamed2 has the name as $2 and the number as $3.
	tenantNamed2 = `t.id = coalesce((select n.id from tenants n where n.name = $2), $3)`
)

// tenantArgs returns the name, and the number that it may stand for: 2 is tenant number 2 unless a tenant has that name, #2 always is,
// because no name has a #.
func tenantArgs(name string) []any {
	var number sql.NullInt64
	if digits := strings.TrimPrefix(name, "#"); digits != "" && digits[0] >= '1' && digits[0] <= '9' {
		n, err := strconv.ParseInt(digits, 10, 64)
		number = sql.NullInt64{Int64: n, Valid: err == nil}
	}
	return []any{name, number}
}

// Get returns the tenant of that name or number, or plans.ErrTenantNotFound.
func (d Tenants) Get(ctx context.Context, name string) (_ plans.Tenant, err error) {
	defer wrap(&err, "get tenant")
	t, err := getTenant(ctx, d.db, name, d.db.JustNow())
	return t, err
}

// lockTenant returns the tenant and blocks other changes to it, to its plans and to the number of its keys, until the transaction ends.
// Rows that refer to it can still be written. It returns plans.ErrTenantNotFound or ErrTenantErased.
func lockTenant(ctx context.Context, tx pgconn.Tx, name string, at sql.NullTime) (plans.Tenant, error) {
	t, err := lockAnyTenant(ctx, tx, name, at)
	if err == nil && t.Erased() {
		return plans.Tenant{}, plans.ErrTenantErased
	}
	return t, err
}

// lockAnyTenant is lockTenant for one that may be erased.
func lockAnyTenant(ctx context.Context, tx pgconn.Tx, name string, at sql.NullTime) (plans.Tenant, error) {
	// A statement of its own: that which waited for the lock reads other tables as they were before.
	if _, err := tx.Exec(ctx, `select from tenants t where `+tenantNamed+` for no key update`, tenantArgs(name)...); err != nil {
		return plans.Tenant{}, err
	}
	return getTenant(ctx, tx, name, at)
}

// getTenant returns the tenant with what is in force at that instant.
func getTenant(ctx context.Context, q pgconn.Queryer, name string, at sql.NullTime) (plans.Tenant, error) {
	var row tenantRow
	err := q.Get(ctx, &row, selectTenant+` where `+tenantNamed2, append([]any{at}, tenantArgs(name)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return plans.Tenant{}, plans.ErrTenantNotFound
	}
	return row.tenant(), err
}

// nameTenant returns the name of the tenant of that name or number, or plans.ErrTenantNotFound. The empty name stands for all tenants.
func nameTenant(ctx context.Context, q pgconn.Queryer, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	var found string
	err := q.Get(ctx, &found, `select t.name from tenants t where `+tenantNamed, tenantArgs(name)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = plans.ErrTenantNotFound
	}
	return found, err
}

// Names returns at most limit names that begin with the prefix, in order.
func (d Tenants) Names(ctx context.Context, prefix string, limit int) (_ []string, err error) {
	defer wrap(&err, "list tenant names")
	var names []string
	err = d.db.Select(ctx, &names, `
		select name from tenants where starts_with(name, $1) and erased_at is null order by name limit $2`, prefix, limit)
	return names, err
}

// Suspend makes the API refuse the tenant's keys, from that instant on or, for the zero time, from now on. It returns
// plans.ErrTenantNotFound, or ErrTenantSuspended when the tenant is suspended already.
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
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockTenant(ctx, tx, name, d.db.JustNow())
		if err != nil {
			return err
		}
		switch {
		case suspend && !before.SuspendedAt.IsZero():
			return plans.ErrTenantSuspended
		case !suspend && before.SuspendedAt.IsZero():
			return plans.ErrTenantNotSuspended
		case suspend:
			// The store's clock: a suspension ends by it, and counts in the month that it says.
			if at, err = instant(ctx, d.db, tx, at); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, `update tenants set suspended_at = $2 where id = $1`, before.ID, nullTime(at)); err != nil {
			return err
		}
		if after, err = getTenant(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		return writeAudit(tx, by, auditEntry{
			action: action, tenantID: before.ID, subject: audit.TenantSubject(before.ID),
			before: recordTenant(before, before), after: recordTenant(before, after),
		})
	})
	if err != nil {
		return plans.Tenant{}, fmt.Errorf("%s: %w", action, err)
	}
	return after, nil
}
