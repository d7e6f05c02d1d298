package pricing

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// timelineOf returns the timeline of a tenant.
func timelineOf(ctx context.Context, q pgconn.Queryer, tenantID int64) (plans.Timeline, error) {
	generation, err := generations(ctx, q)
	if err != nil {
		return plans.Timeline{}, err
	}
	assignments, err := readTimeline(ctx, q, tenantID)
	return plans.Timeline{Assignments: assignments, Generation: generation}, err
}

// generations returns the function that finds the latest generation of a plan at an instant.
func generations(ctx context.Context, q pgconn.Queryer) (func(plan string, at time.Time) int, error) {
	var begins []struct {
		Plan       string    `db:"plan"`
		Generation int       `db:"generation"`
		From       time.Time `db:"valid_from"`
	}
	err := q.Select(ctx, &begins, `
		select plan, generation, min(valid_from) as valid_from from plan_versions group by plan, generation order by
			plan, generation`)
	return func(plan string, at time.Time) (latest int) {
		for _, b := range begins {
			if b.Plan == plan && !b.From.After(at) {
				latest = b.Generation
			}
		}
		return latest
	}, err
}

// ApplyChange stores a change of the timeline of a tenant, which must be locked. It returns the
// change with the IDs of the new assignments.
func ApplyChange(ctx context.Context, tx pgconn.Tx, tenantID int64, c plans.Change) (plans.Change, error) {
	for _, a := range c.Removed {
		// An end is removed with the assignment that it ends.
		if _, err := tx.Exec(
			ctx,
			`delete from tenant_plans where tenant_id = $1 and id = $2`,
			tenantID,
			a.ID,
		); err != nil {
			return c, err
		}
	}
	if a := c.Lasts; a != nil {
		_, err := tx.Exec(
			ctx,
			`update tenant_plans set until = $3, then_plan = nullif($4, '') where tenant_id = $1 and id = $2`,
			tenantID,
			a.ID,
			pgconn.NullTime(a.Until),
			a.Then,
		)
		if err != nil {
			return c, err
		}
	}
	ids := map[int64]int64{}
	for i, a := range c.Added {
		if id, ok := ids[a.Ends]; ok && a.Kind == plans.End {
			a.Ends = id
		}
		id, err := insertAssignment(ctx, tx, tenantID, a)
		if err != nil {
			return c, err
		}
		if a.Kind != plans.End {
			ids[a.ID] = id
		}
		a.ID = id
		c.Added[i] = a
	}
	return c, nil
}

func insertAssignment(ctx context.Context, tx pgconn.Tx, tenantID int64, a plans.Assignment) (id int64, err error) {
	perMinute, perDay := ownColumns(a.Own)
	var month plans.Month
	if a.Own != nil {
		month = a.Own.Month
	}
	err = tx.Get(
		ctx,
		&id,
		`
		insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day, generation, kind, ends, until,
			then_plan, named_per_minute, named_per_day, month, per_month, overage, overage_value, named_month,
			named_per_month, named_overage, named_overage_value)
		values ($1, $2, $3, $4, $5, nullif($6::integer, 0), $7, nullif($8::bigint, 0), $9, nullif($10, ''),
			nullif($11::bigint, 0), nullif($12::bigint, 0), $13, $14, $15, $16, $17, $18, $19, $20)
		returning id`,
		slices.Concat([]any{
			tenantID,
			a.From,
			a.Plan,
			perMinute,
			perDay,
			a.Generation,
			a.Kind,
			a.Ends,
			pgconn.NullTime(a.Until),
			a.Then,
			a.Named.PerMinute,
			a.Named.PerDay,
		}, tenants.ColumnsOf(month).Args(), tenants.ColumnsOf(a.Named.Month).Args())...,
	)
	return id, pgconn.Meaning(err, versionRules)
}

// ownColumns are an assignment's own numbers as column values, null if it has the plan's.
func ownColumns(own *plans.Quota) (perMinute, perDay sql.NullInt64) {
	if own == nil {
		return perMinute, perDay
	}
	return pgconn.NullNumber(own.PerMinute), pgconn.NullNumber(own.PerDay)
}

// nextInstant returns at, or the first instant after it at which an assignment of the tenant may
// begin: one at which none begins yet, after the tenant's first.
func nextInstant(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, tenantID int64, at time.Time) (time.Time, error) {
	at, err := pgconn.Instant(ctx, db, tx, at)
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

// periodAt returns the period in force at the instant, nil for none.
func periodAt(periods []plans.Period, at time.Time) *plans.Period {
	for i, p := range periods {
		if !p.From.After(at) && (p.To.IsZero() || p.To.After(at)) {
			return &periods[i]
		}
	}
	return nil
}

type assignmentRow struct {
	ID             int64          `db:"id"`
	Plan           string         `db:"plan"`
	Generation     sql.NullInt64  `db:"generation"`
	PerMinute      sql.NullInt64  `db:"per_minute"`
	PerDay         sql.NullInt64  `db:"per_day"`
	NamedPerMinute int64          `db:"named_per_minute"`
	NamedPerDay    int64          `db:"named_per_day"`
	Kind           plans.Kind     `db:"kind"`
	Ends           sql.NullInt64  `db:"ends"`
	From           time.Time      `db:"valid_from"`
	Until          sql.NullTime   `db:"until"`
	Then           sql.NullString `db:"then_plan"`
	To             sql.NullTime   `db:"valid_to"`
	CreatedAt      time.Time      `db:"created_at"`
	CreatedBy      string         `db:"created_by"`
	VoidedAt       sql.NullTime   `db:"voided_at"`
	VoidReason     sql.NullString `db:"void_reason"`
	tenants.MonthColumns
	Named tenants.MonthColumns `db:"named"`
}

func (r assignmentRow) assignment() plans.Assignment {
	a := plans.Assignment{
		ID:         r.ID,
		Plan:       r.Plan,
		Generation: int(r.Generation.Int64),
		Kind:       r.Kind,
		Ends:       r.Ends.Int64,
		Named:      plans.Quota{PerMinute: r.NamedPerMinute, PerDay: r.NamedPerDay, Month: r.Named.Change()},
		From:       r.From.UTC(),
		Until:      pgconn.TimeOf(r.Until),
		Then:       r.Then.String,
		To:         pgconn.TimeOf(r.To),
		CreatedAt:  r.CreatedAt.UTC(),
		CreatedBy:  r.CreatedBy,
		VoidedAt:   pgconn.TimeOf(r.VoidedAt),
		VoidReason: r.VoidReason.String,
	}
	own := plans.Quota{PerMinute: r.PerMinute.Int64, PerDay: r.PerDay.Int64, Month: r.Change()}
	if own != (plans.Quota{}) {
		a.Own = &own
	}
	return a
}

// readTimeline returns all assignments of a tenant in the order of time.
func readTimeline(ctx context.Context, q pgconn.Queryer, tenantID int64) ([]plans.Assignment, error) {
	return pgconn.Collect(ctx, q, assignmentRow.assignment, `
		select id, plan, generation, per_minute, per_day, coalesce(named_per_minute, 0) as named_per_minute,
		       coalesce(named_per_day, 0) as named_per_day, kind, ends, valid_from, until, then_plan,
		       lead(valid_from) over (order by valid_from) as valid_to, created_at, created_by, voided_at, void_reason,
		       month, per_month, overage, overage_value, named_month as "named.month",
		       named_per_month as "named.per_month", named_overage as "named.overage",
		       named_overage_value as "named.overage_value"
		from tenant_plans where tenant_id = $1 order by valid_from`, tenantID)
}

type periodRow struct {
	Assignment   int64          `db:"assignment"`
	Version      int            `db:"version"`
	Generation   int            `db:"generation"`
	Plan         string         `db:"plan"`
	Kind         plans.Kind     `db:"kind"`
	Ends         sql.NullInt64  `db:"ends"`
	PerMinute    int64          `db:"per_minute"`
	PerDay       int64          `db:"per_day"`
	From         time.Time      `db:"valid_from"`
	To           sql.NullTime   `db:"valid_to"`
	AssignedFrom time.Time      `db:"assigned_from"`
	AssignedTo   sql.NullTime   `db:"assigned_to"`
	VoidedAt     sql.NullTime   `db:"voided_at"`
	VoidReason   sql.NullString `db:"void_reason"`
	tenants.MonthColumns
}

func (r periodRow) period() plans.Period {
	return plans.Period{
		Assignment:   r.Assignment,
		Version:      r.Version,
		Generation:   r.Generation,
		Plan:         r.Plan,
		Kind:         r.Kind,
		Ends:         r.Ends.Int64,
		Quota:        plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay, Month: r.InForce()},
		From:         r.From.UTC(),
		To:           pgconn.TimeOf(r.To),
		AssignedFrom: r.AssignedFrom.UTC(),
		AssignedTo:   pgconn.TimeOf(r.AssignedTo),
		VoidedAt:     pgconn.TimeOf(r.VoidedAt),
		VoidReason:   r.VoidReason.String,
	}
}

// Periods returns what was, is and will be in force for a tenant, in order of time: all periods
// that end after from. The zero time stands for the beginning.
func (d Timelines) Periods(ctx context.Context, tenantID int64, from time.Time) (_ []plans.Period, err error) {
	defer pgconn.Wrap(&err, "read a tenant's periods")
	return readPeriods(ctx, d.db, tenantID, from)
}

func readPeriods(ctx context.Context, q pgconn.Queryer, tenantID int64, from time.Time) ([]plans.Period, error) {
	return pgconn.Collect(ctx, q, periodRow.period, `
		select assignment, version, generation, plan, kind, ends, per_minute, per_day, per_month, overage,
		       overage_value, valid_from, valid_to, assigned_from, assigned_to, voided_at, void_reason
		from quota_periods where tenant_id = $1 and (valid_to is null or valid_to > $2) order by
		  valid_from`, tenantID, from)
}
