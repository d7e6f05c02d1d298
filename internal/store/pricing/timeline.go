package pricing

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
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
		select plan, generation, min(valid_from) as valid_from from plan_versions group by plan, generation order by plan, generation`)
	return func(plan string, at time.Time) (latest int) {
		for _, b := range begins {
			if b.Plan == plan && !b.From.After(at) {
				latest = b.Generation
			}
		}
		return latest
	}, err
}

// ApplyChange stores a change of the timeline of a tenant, which must be locked. It returns the change with the IDs of what is new.
func ApplyChange(ctx context.Context, tx pgconn.Tx, tenantID int64, c plans.Change) (plans.Change, error) {
	for _, a := range c.Removed {
		// An end goes with what it ends.
		if _, err := tx.Exec(ctx, `delete from tenant_plans where tenant_id = $1 and id = $2`, tenantID, a.ID); err != nil {
			return c, err
		}
	}
	if a := c.Lasts; a != nil {
		_, err := tx.Exec(ctx, `update tenant_plans set until = $3, then_plan = nullif($4, '') where tenant_id = $1 and id = $2`,
			tenantID, a.ID, pgconn.NullTime(a.Until), a.Then)
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
	err = tx.Get(ctx, &id, `
		insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day, generation, kind, ends, until, then_plan, named_per_minute, named_per_day)
		values ($1, $2, $3, $4, $5, nullif($6::integer, 0), $7, nullif($8::bigint, 0), $9, nullif($10, ''), nullif($11::bigint, 0), nullif($12::bigint, 0))
		returning id`,
		tenantID, a.From, a.Plan, perMinute, perDay, a.Generation, a.Kind, a.Ends, pgconn.NullTime(a.Until), a.Then, a.Named.PerMinute, a.Named.PerDay)
	return id, err
}

// ownColumns are an assignment's own numbers as column values: null for those of the plan.
func ownColumns(own *plans.Quota) (perMinute, perDay sql.NullInt64) {
	if own == nil {
		return perMinute, perDay
	}
	return pgconn.NullNumber(own.PerMinute), pgconn.NullNumber(own.PerDay)
}

// nextInstant is instant, or the first one after it at which an assignment of the tenant may begin: none begins then, and one has before.
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

// periodAt returns the period of a list that is in force at the instant, nil for none.
func periodAt(periods []plans.Period, at time.Time) *plans.Period {
	for i, p := range periods {
		if !p.From.After(at) && (p.To.IsZero() || p.To.After(at)) {
			return &periods[i]
		}
	}
	return nil
}
