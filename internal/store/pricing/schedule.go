package pricing

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Coming is a known future change of a tenant's plan or numbers: what is in force from then on.
type Coming struct {
	Tenant   string
	tenantID int64
	plans.Period
	// Until is when a temporary assignment or a boost ends by itself.
	Until time.Time
}

// Version reports whether only the plan's version changes.
func (c Coming) Version() bool { return !c.From.Equal(c.AssignedFrom) }

type comingRow struct {
	periodRow
	TenantID int64        `db:"tenant_id"`
	Tenant   string       `db:"tenant"`
	Until    sql.NullTime `db:"until"`
}

func (r comingRow) coming() Coming {
	return Coming{Tenant: r.Tenant, tenantID: r.TenantID, Period: r.period(), Until: pgconn.TimeOf(r.Until)}
}

const selectComing = `
	select q.tenant_id, t.name as tenant, q.assignment, q.version, q.generation, q.plan, q.kind, q.ends, q.per_minute,
	       q.per_day, q.per_month, q.overage, q.overage_value, q.valid_from, q.valid_to,
	       q.assigned_from, q.assigned_to, q.voided_at, q.void_reason, a.until
	from quota_periods q
	join tenants t on t.id = q.tenant_id
	join tenant_plans a on a.tenant_id = q.tenant_id and a.id = q.assignment`

// Schedule returns at most limit coming changes, 0 for all, in order of time. For a tenant they
// include its plans' versions; for "" they are the assignments of all tenants. They begin after the
// assignment with the ID after, unless that is 0. It returns plans.ErrTenantNotFound, or
// ErrAssignmentNotFound.
func (d Timelines) Schedule(ctx context.Context, tenant string, after int64, limit int) iter.Seq2[Coming, error] {
	return pgconn.ListOf(ctx, d.db, "list scheduled changes", comingRow.coming, func() (*pgconn.ListQuery, error) {
		tenantID, err := tenants.IDOf(ctx, d.db, tenant)
		if err != nil {
			return nil, err
		}
		q := pgconn.NewListQuery(selectComing)
		if tenantID == 0 {
			q.And(
				`q.assigned_from > coalesce(?::timestamptz, now()) and q.valid_from = q.assigned_from`,
				d.db.JustNow(),
			)
		} else {
			q.And(`q.tenant_id = ? and q.valid_from > coalesce(?::timestamptz, now())`, tenantID, d.db.JustNow())
		}
		if after != 0 {
			last, err := readAssignment(ctx, d.db, after)
			if err != nil {
				return nil, err
			}
			q.And(`(q.valid_from, t.name) > (?, ?)`, last.AssignedFrom, last.Tenant)
		}
		q.End(`q.valid_from, t.name`, limit)
		return q, nil
	})
}

// Unschedule removes an assignment that has not begun. If it is the end of a temporary assignment,
// that assignment lasts. It returns plans.ErrAssignmentNotFound, ErrAssignmentBegun or
// ErrAssignmentBegins.
func (d Timelines) Unschedule(ctx context.Context, by audit.By, id int64) (done PlanChange, err error) {
	defer pgconn.Wrap(&err, "unschedule")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		tenant, err := tenantOfAssignment(ctx, tx, id)
		if err != nil {
			return err
		}
		line, err := d.beginPlanChange(ctx, tx, tenant, &done)
		if err != nil {
			return err
		}
		for _, a := range line.Assignments {
			if a.ID == id {
				done.Assignment = a
			}
		}
		if done.Change, err = line.Unschedule(id, done.Now); err != nil {
			return err
		}
		done.removed = recordRemoved(done.Assignment, line)
		if err := d.readPlanChange(ctx, tx, &done); err != nil {
			return err
		}
		done.Was = done.At(done.Assignment.From)
		if err := d.store(ctx, tx, &done); err != nil {
			return err
		}
		return writePlanAudit(tx, by, "plan.unschedule", done)
	})
	return done, err
}

// TenantsOf returns the names of the tenants that have these assignments. Unknown IDs are skipped.
func (d Timelines) TenantsOf(ctx context.Context, ids []string) (names []string, err error) {
	defer pgconn.Wrap(&err, "find the tenants of assignments")
	err = d.db.Select(ctx, &names, `
		select distinct t.name from tenant_plans a join tenants t on t.id = a.tenant_id where a.id =
		  any($1::bigint[])`, pq.Array(ids))
	return names, err
}

func tenantOfAssignment(ctx context.Context, q pgconn.Queryer, id int64) (name string, err error) {
	err = pgconn.GetOr(ctx, q, &name, plans.ErrAssignmentNotFound,
		`select t.name from tenant_plans a join tenants t on t.id = a.tenant_id where a.id = $1`, id)
	return name, err
}

// Void marks an assignment that has begun as void, for the reason of the change, or removes that
// mark. Decisions made under it stay. It returns plans.ErrAssignmentNotFound,
// ErrAssignmentNotBegun, ErrAssignmentVoid or ErrAssignmentNotVoid.
func (d Timelines) Void(ctx context.Context, by audit.By, id int64, undo bool) (Coming, error) {
	if undo {
		return d.setVoid(ctx, by, id, "")
	}
	return d.setVoid(ctx, by, id, by.Reason)
}

// setVoid marks an assignment as void for a reason, or removes the mark if the reason is empty.
func (d Timelines) setVoid(ctx context.Context, by audit.By, id int64, reason string) (done Coming, err error) {
	defer pgconn.Wrap(&err, "void an assignment")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := readAssignment(ctx, tx, id)
		if err != nil {
			return err
		}
		now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
		if err != nil {
			return err
		}
		// An assignment made within the last millisecond has begun, as in pgconn.DB.JustNow.
		if before.AssignedFrom.After(now.Add(time.Millisecond)) {
			return plans.ErrAssignmentNotBegun
		}
		at, action, refused := pgconn.NullTime(now), "plan.void", plans.ErrAssignmentVoid
		if reason == "" {
			at, action, refused = sql.NullTime{}, "plan.unvoid", plans.ErrAssignmentNotVoid
		}
		marked, err := tx.Exec(
			ctx,
			`update tenant_plans set voided_at = $2, void_reason = nullif($3, '') where id = $1 and (voided_at is
				null) = $4`,
			id,
			at,
			reason,
			reason != "",
		)
		if err == nil && marked == 0 {
			err = refused
		}
		if err != nil {
			return err
		}
		if done, err = readAssignment(ctx, tx, id); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: action, TenantID: done.tenantID, Subject: audit.TenantSubject(done.tenantID),
			Before: recordPeriod(before.Period), After: recordPeriod(done.Period),
		})
	})
	return done, err
}

// readAssignment returns the assignment with its numbers at its beginning.
func readAssignment(ctx context.Context, tx pgconn.Queryer, id int64) (Coming, error) {
	var tenantID int64
	// This is a statement of its own: the view reads one tenant's rows only if its number is an
	// argument.
	err := pgconn.GetOr(
		ctx,
		tx,
		&tenantID,
		plans.ErrAssignmentNotFound,
		`select tenant_id from tenant_plans where id = $1`,
		id,
	)
	if err != nil {
		return Coming{}, err
	}
	var row comingRow
	if err := tx.Get(
		ctx,
		&row,
		selectComing+` where q.tenant_id = $1 and q.assignment = $2 order by q.valid_from limit 1`,
		tenantID,
		id,
	); err != nil {
		return Coming{}, err
	}
	return row.coming(), nil
}
