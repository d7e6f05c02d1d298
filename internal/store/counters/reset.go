package counters

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/store/pgconn"
)

const (
	// beginTermQuery makes a new term for the present servers, if there already is a term.
	beginTermQuery = `
with begun as (
  update cluster_term set number = number + 1, active = false, first = false where number > 0 returning number, sole
)
select coalesce((select sole <> '' from begun), false) as sole, clock_timestamp() as now,
  (select pg_notify('` + Channel + `', number::text) from begun)::text as notified`

	recordedDayQuery = `
select coalesce(sum(admitted), 0)::bigint from usage_hourly
where tenant_id = $1 and hour >= to_timestamp($2::bigint * 86400) and hour < to_timestamp(($2::bigint + 1) * 86400)`

	// While the row is locked nothing is added to it: usage that is not committed then is not in the
	// sum, and is added later.
	makeMonthQuery = `
insert into tenant_months (tenant_id, month, admitted)
values ($1, date_trunc('month', $2::timestamptz at time zone 'UTC')::date, 0) on conflict do nothing`

	lockMonthQuery = `
select from tenant_months m
where m.tenant_id = $1 and m.month = date_trunc('month', $2::timestamptz at time zone 'UTC')::date for update`

	recordedMonthQuery = `
update tenant_months m set admitted = coalesce((
  select sum(u.admitted) from usage_hourly u
  join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
  join plan_versions v on v.plan = a.plan and v.version = u.version
  where u.tenant_id = m.tenant_id and u.hour >= m.month::timestamp at time zone 'UTC'
    and u.hour < (m.month + interval '1 month') at time zone 'UTC' and coalesce(a.month, v.month) = 'some'), 0)
where m.tenant_id = $1 and m.month = date_trunc('month', $2::timestamptz at time zone 'UTC')::date
returning m.admitted`
)

// Reset begins a term in which every tenant's windows are the current ones by Postgres's clock, and
// count what is recorded. It also sums the tenant's month anew, and returns what is recorded of its
// day and month. inMemory says that the only server counts in its memory, which Reset does not
// reach.
func Reset(ctx context.Context, tx pgconn.Tx, tenantID int64) (dayUsed, monthUsed int64, inMemory bool, err error) {
	var term struct {
		Sole     bool
		Now      time.Time
		Notified *string
	}
	if err := tx.Get(ctx, &term, beginTermQuery); err != nil {
		return 0, 0, false, fmt.Errorf("begin term: %w", err)
	}
	if err := tx.Get(ctx, &dayUsed, recordedDayQuery, tenantID, limits.DayAt(term.Now)); err != nil {
		return 0, 0, false, fmt.Errorf("read what is recorded: %w", err)
	}
	for _, query := range []string{makeMonthQuery, lockMonthQuery} {
		if _, err := tx.Exec(ctx, query, tenantID, term.Now); err != nil {
			return 0, 0, false, fmt.Errorf("lock the month: %w", err)
		}
	}
	if err := tx.Get(ctx, &monthUsed, recordedMonthQuery, tenantID, term.Now); err != nil {
		return 0, 0, false, fmt.Errorf("read what is recorded of the month: %w", err)
	}
	return dayUsed, monthUsed, term.Sole, nil
}
