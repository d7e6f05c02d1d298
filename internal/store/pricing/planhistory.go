package pricing

import (
	"context"
	"strconv"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// HistoryPeriod is a period of a tenant, with the maker of the assignment or plan version that
// begins it.
type HistoryPeriod struct {
	plans.Period
	// CreatedAt is when it was made, CreatedBy the login that made it. Both are zero if it is older
	// than this history.
	CreatedAt time.Time
	CreatedBy string
	// ClaimedActor and Reason come from the audit entry. They are empty for a login that may not
	// read the audit trail.
	ClaimedActor, Reason string
}

type historyRow struct {
	periodRow
	ByVersion bool      `db:"by_version"`
	CreatedAt time.Time `db:"made_at"`
	CreatedBy string    `db:"made_by"`
}

// History returns what was, is and will be in force for a tenant, in order of time, or
// plans.ErrTenantNotFound.
func (d Timelines) History(ctx context.Context, name string) (_ []HistoryPeriod, err error) {
	defer pgconn.Wrap(&err, "read a tenant's history")
	t, err := tenants.Get(ctx, d.db, name, d.db.JustNow())
	if err != nil {
		return nil, err
	}
	var rows []historyRow
	err = d.db.Select(ctx, &rows, `
		select q.assignment, q.version, q.generation, q.plan, q.kind, q.ends, q.per_minute, q.per_day, q.per_month,
		       q.overage, q.overage_value, q.valid_from, q.valid_to,
		       q.assigned_from, q.assigned_to, q.voided_at, q.void_reason, q.valid_from > q.assigned_from as by_version,
		       case when q.valid_from > q.assigned_from then v.created_at else a.created_at end as made_at,
		       case when q.valid_from > q.assigned_from then v.created_by else a.created_by end as made_by
		from quota_periods q
		join tenant_plans a on a.tenant_id = q.tenant_id and a.id = q.assignment
		join plan_versions v on v.plan = q.plan and v.version = q.version
		where q.tenant_id = $1 order by q.valid_from`, t.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	reasons, err := d.reasons(ctx, t.ID, rows[0].Assignment)
	if err != nil {
		return nil, err
	}
	history := make([]HistoryPeriod, len(rows))
	for i, r := range rows {
		by := reasons.of(r.period(), r.ByVersion)
		history[i] = HistoryPeriod{
			Period:       r.period(),
			CreatedAt:    r.CreatedAt.UTC(),
			CreatedBy:    r.CreatedBy,
			ClaimedActor: by.ClaimedActor,
			Reason:       by.Reason,
		}
	}
	return history, nil
}

// madeBy says who made the beginning of a period, and why.
type madeBy struct {
	ClaimedActor string `db:"claimed_actor"`
	Reason       string `db:"reason"`
}

// historyReasons finds the audit entries of the assignments and versions that begin periods.
type historyReasons struct {
	assignments map[int64]madeBy
	versions    map[versionKey]madeBy
}

type versionKey struct {
	plan    string
	version int
}

func (r historyReasons) of(p plans.Period, byVersion bool) madeBy {
	if byVersion {
		return r.versions[versionKey{p.Plan, p.Version}]
	}
	if by, ok := r.assignments[p.Assignment]; ok || p.Ends == 0 {
		return by
	}
	// An end has no entry of its own: it was made with the assignment that it ends.
	return r.assignments[p.Ends]
}

// reasons reads the audit entries about a tenant's assignments and about versions of plans. An
// entry has its assignment's ID in the member assignment, or in id if a trigger wrote it. The first
// assignment has the entry of the tenant's creation. A login that may not read the trail finds
// none.
func (d Timelines) reasons(ctx context.Context, tenantID, first int64) (historyReasons, error) {
	found := historyReasons{map[int64]madeBy{}, map[versionKey]madeBy{}}
	var rows []struct {
		madeBy
		Assignment string `db:"assignment"`
		Plan       string `db:"plan"`
		Version    string `db:"version"`
	}
	err := d.db.Select(ctx, &rows, `
		select claimed_actor, reason, '' as plan, '' as version,
		       case action when 'tenant.create' then $2::text else coalesce(after->>'assignment', after->>'id', '')
		           end as assignment
		from audit_entries
		where tenant_id = $1 and (action = 'tenant.create' or action like 'plan.%' and action not in ('plan.void',
			'plan.unschedule'))
		union all
		select claimed_actor, reason, substr(subject, 6), coalesce(after->>'version', ''), ''
		from audit_entries
		where action in ('plan.create', 'plan.edit') and subject in (select 'plan:' || plan from quota_periods where
			tenant_id = $1)
		  and (before is null or before->>'version' is distinct from after->>'version')`, tenantID,
		strconv.FormatInt(first, 10))
	if err != nil && !pgconn.IsForbidden(err) {
		return found, err
	}
	for _, r := range rows {
		if n, err := strconv.ParseInt(r.Assignment, 10, 64); err == nil {
			found.assignments[n] = r.madeBy
		}
		if n, err := strconv.Atoi(r.Version); err == nil {
			found.versions[versionKey{r.Plan, n}] = r.madeBy
		}
	}
	return found, nil
}
