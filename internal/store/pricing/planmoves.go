package pricing

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Grandfathered is a tenant that follows an earlier generation of its plan than the latest.
type Grandfathered struct {
	Tenant plans.Tenant
	// Temporary says that the present assignment ends by itself.
	Temporary bool
}

// MaxMoved is how many tenants one call of Move may move. Entries of the audit trail become slow to
// add if a transaction has many.
const MaxMoved = 100

type grandfatheredRow struct {
	tenants.Row
	Temporary bool `db:"temporary"`
}

func (r grandfatheredRow) grandfathered() Grandfathered {
	return Grandfathered{r.Tenant(), r.Temporary}
}

// Grandfathered returns the tenants on a plan that follow an earlier generation than the latest, by
// name. tenants restricts them to these numbers, nil for all.
func (d Plans) Grandfathered(ctx context.Context, plan string, tenants []int64) (_ []Grandfathered, err error) {
	defer pgconn.Wrap(&err, "list grandfathered tenants")
	return readGrandfathered(ctx, d.db, plan, tenants, d.db.JustNow())
}

func readGrandfathered(
	ctx context.Context,
	q pgconn.Queryer,
	plan string,
	tenants []int64,
	at sql.NullTime,
) ([]Grandfathered, error) {
	return pgconn.Collect(ctx, q, grandfatheredRow.grandfathered, `
		select t.id, t.name, q.plan, q.assignment, q.version, q.per_minute, q.per_day, q.per_month, q.overage,
		       q.overage_value, t.suspended_at, t.created_at,
		       q.kind = 'boost' or exists (
		         select from tenant_plans e where e.tenant_id = q.tenant_id and e.ends = q.assignment and e.valid_from
		             > i.instant
		       ) as temporary
		from (select coalesce($2::timestamptz, now()) as instant) i
		cross join quota_periods q
		join tenants t on t.id = q.tenant_id
		where q.plan = $1 and t.erased_at is null and q.valid_from <= i.instant and (q.valid_to is null or q.valid_to
			> i.instant)
		  and q.generation < (select max(v.generation) from plan_versions v where v.plan = $1 and v.valid_from <=
		      i.instant)
		  and ($3::bigint[] is null or q.tenant_id in (select unnest($3::bigint[])))
		order by t.name`, plan, at, pq.Array(tenants))
}

// Move assigns a plan again to at most MaxMoved tenants that follow an earlier generation of it,
// and returns them as they are then. They follow the latest generation from now on. Tenants that
// follow it already, or whose plan ends by itself, are left out. All are moved, or none. It returns
// plans.ErrPlanNotFound, ErrPlanRetired, or a NumbersError if a scheduled boost would admit no
// request of a month.
func (d Plans) Move(ctx context.Context, by audit.By, plan string, tenants []int64) (moved []plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "move tenants")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		moved = nil
		if _, err := tx.Exec(
			ctx,
			`select from tenants where id = any($1) order by id for no key update`,
			pq.Array(tenants),
		); err != nil {
			return err
		}
		now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
		if err != nil {
			return err
		}
		found, err := readGrandfathered(ctx, tx, plan, tenants, pgconn.NullTime(now.Add(time.Millisecond)))
		if err != nil {
			return err
		}
		var before []plans.Tenant
		for _, g := range found {
			if g.Temporary {
				continue
			}
			after, err := d.moveTenant(ctx, tx, g.Tenant, now)
			if err != nil {
				return err
			}
			before, moved = append(before, g.Tenant), append(moved, after)
		}
		if len(moved) > 0 {
			if err := checkBoosts(ctx, tx, plan, moved[0].Version); err != nil {
				return err
			}
		}
		for i, after := range moved {
			err := trail.Write(tx, by, trail.Entry{
				Action:   "plan.move",
				TenantID: after.ID,
				Subject:  audit.TenantSubject(after.ID),
				Before:   recordMove(before[i]),
				After:    recordMove(after),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return moved, err
}

func (d Plans) moveTenant(ctx context.Context, tx pgconn.Tx, t plans.Tenant, now time.Time) (plans.Tenant, error) {
	at, err := nextInstant(ctx, d.db, tx, t.ID, now)
	if err != nil {
		return plans.Tenant{}, err
	}
	if err := checkQuota(ctx, tx, t.Plan, nil, at); err != nil {
		return plans.Tenant{}, err
	}
	line, err := timelineOf(ctx, tx, t.ID)
	if err != nil {
		return plans.Tenant{}, err
	}
	// A scheduled boost follows too: after it, the tenant does not fall back to the earlier
	// generation.
	c, err := line.Assign(plans.Assignment{Kind: plans.Assigned, Plan: t.Plan, From: at}, at)
	if err != nil {
		return plans.Tenant{}, err
	}
	if _, err := ApplyChange(ctx, tx, t.ID, c); err != nil {
		return plans.Tenant{}, err
	}
	return tenants.Get(ctx, tx, t.Name, pgconn.NullTime(at))
}

// moveRecord is what an audit entry holds of a moved tenant.
type moveRecord struct {
	Assignment int64  `json:"assignment"`
	Plan       string `json:"plan"`
	Version    int    `json:"version"`
	PerMinute  int64  `json:"per_minute"`
	PerDay     int64  `json:"per_day"`
	tenants.MonthRecord
}

func recordMove(t plans.Tenant) moveRecord {
	return moveRecord{
		t.Assignment,
		t.Plan,
		t.Version,
		t.Quota.PerMinute,
		t.Quota.PerDay,
		tenants.RecordMonth(t.Quota.Month),
	}
}
