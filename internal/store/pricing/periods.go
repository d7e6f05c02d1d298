package pricing

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

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
}

func (r assignmentRow) assignment() plans.Assignment {
	a := plans.Assignment{
		ID: r.ID, Plan: r.Plan, Generation: int(r.Generation.Int64), Kind: r.Kind, Ends: r.Ends.Int64,
		Named: plans.Quota{PerMinute: r.NamedPerMinute, PerDay: r.NamedPerDay},
		From:  r.From.UTC(), Until: pgconn.TimeOf(r.Until), Then: r.Then.String, To: pgconn.TimeOf(r.To), CreatedAt: r.CreatedAt.UTC(), CreatedBy: r.CreatedBy,
		VoidedAt: pgconn.TimeOf(r.VoidedAt), VoidReason: r.VoidReason.String,
	}
	if r.PerMinute.Valid || r.PerDay.Valid {
		a.Own = &plans.Quota{PerMinute: r.PerMinute.Int64, PerDay: r.PerDay.Int64}
	}
	return a
}

// readTimeline returns all assignments of a tenant in the order of time.
func readTimeline(ctx context.Context, q pgconn.Queryer, tenantID int64) ([]plans.Assignment, error) {
	return pgconn.Collect(ctx, q, assignmentRow.assignment, `
		select id, plan, generation, per_minute, per_day, coalesce(named_per_minute, 0) as named_per_minute,
		       coalesce(named_per_day, 0) as named_per_day, kind, ends, valid_from, until, then_plan,
		       lead(valid_from) over (order by valid_from) as valid_to, created_at, created_by, voided_at, void_reason
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
}

func (r periodRow) period() plans.Period {
	return plans.Period{
		Assignment: r.Assignment, Version: r.Version, Generation: r.Generation, Plan: r.Plan, Kind: r.Kind, Ends: r.Ends.Int64,
		Quota: plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay}, From: r.From.UTC(), To: pgconn.TimeOf(r.To),
		AssignedFrom: r.AssignedFrom.UTC(), AssignedTo: pgconn.TimeOf(r.AssignedTo), VoidedAt: pgconn.TimeOf(r.VoidedAt), VoidReason: r.VoidReason.String,
	}
}

// Periods returns what was, is and will be in force for a tenant, in the order of time: all periods that end after from; the zero time
// stands for the beginning.
func (d Timelines) Periods(ctx context.Context, tenantID int64, from time.Time) (_ []plans.Period, err error) {
	defer pgconn.Wrap(&err, "read a tenant's periods")
	return readPeriods(ctx, d.db, tenantID, from)
}

func readPeriods(ctx context.Context, q pgconn.Queryer, tenantID int64, from time.Time) ([]plans.Period, error) {
	return pgconn.Collect(ctx, q, periodRow.period, `
		select assignment, version, generation, plan, kind, ends, per_minute, per_day, valid_from, valid_to, assigned_from, assigned_to,
		       voided_at, void_reason
		from quota_periods where tenant_id = $1 and (valid_to is null or valid_to > $2) order by valid_from`, tenantID, from)
}
