package tenants

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Select selects tenants with what is in force for them at the instant $1, null for now. If a
// tenant's plan has not begun, its first assignment is selected. Columns and From are its parts.
const (
	Select = `select ` + Columns + From

	Columns = `
	       t.id, t.name, q.plan, q.assignment, q.version, q.kind, q.per_minute, q.per_day, t.suspended_at, t.created_at,
	       coalesce(t.billing_ref, '') as billing_ref, coalesce(t.email, '') as email, coalesce(t.contact, '') as
	           contact,
	       coalesce(t.notes, '') as notes, q.valid_to,
	       n.plan as next_plan, n.assignment as next_assignment, n.version as next_version, n.kind as next_kind,
	       n.per_minute as next_per_minute, n.per_day as next_per_day, q.per_month, q.overage, q.overage_value,
	       n.per_month as "next.per_month", n.overage as "next.overage", n.overage_value as "next.overage_value"`

	From = `
	from tenants t cross join lateral (
	  select q.* from quota_periods q
	  where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > coalesce($1::timestamptz, now()))
	  order by q.valid_from limit 1
	) q
	left join lateral (select n.* from quota_periods n where n.tenant_id = t.id and n.valid_from = q.valid_to) n on
		true`
)

// Row is a row of Select.
type Row struct {
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
	MonthColumns

	NextPlan       sql.NullString `db:"next_plan"`
	NextAssignment sql.NullInt64  `db:"next_assignment"`
	NextVersion    sql.NullInt64  `db:"next_version"`
	NextKind       sql.NullString `db:"next_kind"`
	NextPerMinute  sql.NullInt64  `db:"next_per_minute"`
	NextPerDay     sql.NullInt64  `db:"next_per_day"`
	Next           MonthColumns   `db:"next"`
}

// Tenant is the row as a tenant.
func (r Row) Tenant() plans.Tenant {
	t := plans.Tenant{
		ID: r.ID, Name: r.Name, Plan: r.Plan, Assignment: r.Assignment, Version: r.Version, Kind: r.Kind,
		Quota:       plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay, Month: r.InForce()},
		SuspendedAt: pgconn.TimeOf(r.SuspendedAt), CreatedAt: r.CreatedAt.UTC(), Until: pgconn.TimeOf(r.Until),
		Profile: plans.Profile{BillingRef: r.BillingRef, Email: r.Email, Contact: r.Contact, Notes: r.Notes},
	}
	if r.NextPlan.Valid {
		next := t
		next.Plan, next.Assignment, next.Version, next.Kind = r.NextPlan.String, r.NextAssignment.Int64, int(
			r.NextVersion.Int64,
		), plans.Kind(
			r.NextKind.String,
		)
		next.Until = time.Time{}
		next.Quota = plans.Quota{
			PerMinute: r.NextPerMinute.Int64, PerDay: r.NextPerDay.Int64, Month: r.Next.InForce(),
		}
		t.Next = &next
	}
	return t
}

// The conditions for a tenant by name or number.
const (
	// named is the condition for the tenant t with the name $1 or else the number $2 (see args).
	named = `t.id = coalesce((select n.id from tenants n where n.name = $1), $2)`
	// named2 has the name as $2 and the number as $3.
	named2 = `t.id = coalesce((select n.id from tenants n where n.name = $2), $3)`
)

// args returns the name, and the number that it may stand for. 2 is tenant number 2 unless a tenant
// has that name. #2 always is, because no name has a #.
func args(name string) []any {
	var number sql.NullInt64
	if digits := strings.TrimPrefix(name, "#"); digits != "" && digits[0] >= '1' && digits[0] <= '9' {
		n, err := strconv.ParseInt(digits, 10, 64)
		number = sql.NullInt64{Int64: n, Valid: err == nil}
	}
	return []any{name, number}
}

// Lock returns the tenant and blocks other changes to it, to its plans and to the number of its
// keys, until the transaction ends. Rows that refer to it can still be written. It returns
// plans.ErrTenantNotFound or ErrTenantErased.
func Lock(ctx context.Context, tx pgconn.Tx, name string, at sql.NullTime) (plans.Tenant, error) {
	t, err := LockAny(ctx, tx, name, at)
	if err == nil && t.Erased() {
		return plans.Tenant{}, plans.ErrTenantErased
	}
	return t, err
}

// LockAny is Lock for a tenant that may be erased.
func LockAny(ctx context.Context, tx pgconn.Tx, name string, at sql.NullTime) (plans.Tenant, error) {
	// This is a statement of its own, because a statement that has waited for a lock reads other
	// tables as they were before the wait.
	if _, err := tx.Exec(ctx, `select from tenants t where `+named+` for no key update`, args(name)...); err != nil {
		return plans.Tenant{}, err
	}
	return Get(ctx, tx, name, at)
}

// Get returns the tenant with what is in force at that instant.
func Get(ctx context.Context, q pgconn.Queryer, name string, at sql.NullTime) (plans.Tenant, error) {
	var row Row
	if err := pgconn.GetOr(
		ctx,
		q,
		&row,
		plans.ErrTenantNotFound,
		Select+` where `+named2,
		append([]any{at}, args(name)...)...); err != nil {
		return plans.Tenant{}, err
	}
	return row.Tenant(), nil
}

// NameOf returns the name of the tenant with that name or number, or plans.ErrTenantNotFound. The
// empty name stands for all tenants.
func NameOf(ctx context.Context, q pgconn.Queryer, name string) (found string, err error) {
	if name != "" {
		err = pgconn.GetOr(
			ctx,
			q,
			&found,
			plans.ErrTenantNotFound,
			`select t.name from tenants t where `+named,
			args(name)...)
	}
	return found, err
}

// IDOf returns the ID of the tenant with that name or number, or plans.ErrTenantNotFound. It is 0
// for the empty name, which stands for all tenants.
func IDOf(ctx context.Context, q pgconn.Queryer, name string) (id int64, err error) {
	if name != "" {
		err = pgconn.GetOr(
			ctx,
			q,
			&id,
			plans.ErrTenantNotFound,
			`select t.id from tenants t where `+named,
			args(name)...)
	}
	return id, err
}

// LockAll blocks other changes to these tenants (by name or number, as #12), to these keys (by ID),
// and to the keys' tenants, until db's transaction ends. All changes lock tenants before keys, and
// both in the order of their IDs. So batches wait for each other, but never in a circle. Missing
// tenants and keys are left out.
func LockAll(ctx context.Context, db *pgconn.DB, tenants, keyIDs []string) error {
	var names []string
	var ids []int64
	for _, t := range tenants {
		if digits, ok := strings.CutPrefix(t, "#"); ok {
			id, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				return plans.ErrTenantNotFound
			}
			ids = append(ids, id)
			continue
		}
		names = append(names, t)
	}
	for _, l := range []struct {
		statement string
		args      []any
	}{
		{
			`select from tenants where id in (
			   select id from tenants where name = any($1) union select unnest($2::bigint[]) union select tenant_id
			       from api_keys where id = any($3)
			 ) order by id for no key update`,
			[]any{pq.Array(names), pq.Array(ids), pq.Array(keyIDs)},
		},
		{`select from api_keys where id = any($1) order by id for no key update`, []any{pq.Array(keyIDs)}},
	} {
		if _, err := db.Exec(ctx, l.statement, l.args...); err != nil {
			return fmt.Errorf("lock tenants and keys: %w", err)
		}
	}
	return nil
}
