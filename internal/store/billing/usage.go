package billing

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

// Usage stores the numbers of admitted and refused requests, by hour.
type Usage struct{ db *pgconn.DB }

var _ usage.Store = Usage{}

// WriteUsage implements usage.Store. The API may only add to recorded usage, through a function. If
// a reply is lost, the batch's number shows that it was added.
func (d Usage) WriteUsage(ctx context.Context, b usage.Batch) (err error) {
	defer pgconn.Wrap(&err, "record usage")
	n := len(b.Counts)
	tenants, hours := make([]int64, n), make([]int64, n)
	keyIDs, assignments, versions := make([]string, n), make([]int64, n), make([]int64, n)
	admitted, refused := make([]int64, n), make([]int64, n)
	minutes, inMinute, inPrevious := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, c := range b.Counts {
		tenants[i], hours[i], keyIDs[i], assignments[i], versions[i] = c.TenantID, c.Hour, c.KeyID, c.Assignment, int64(
			c.Version,
		)
		admitted[i], refused[i] = c.Admitted, c.Refused
		minutes[i], inMinute[i], inPrevious[i] = c.Minute, c.InMinute, c.InPrevious
	}
	used, micros := make([]string, len(b.LastUsed)), make([]int64, len(b.LastUsed))
	for i, u := range b.LastUsed {
		used[i], micros[i] = u.KeyID, u.At.UnixMicro()
	}
	delivered := int64(0)
	if !b.DeliveredTo.IsZero() {
		delivered = b.DeliveredTo.UnixMicro()
	}
	var added bool
	err = d.db.Get(
		ctx,
		&added,
		`select add_usage($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		b.ServerID,
		b.Number,
		delivered,
		pq.Array(tenants),
		pq.Array(hours),
		pq.Array(keyIDs),
		pq.Array(assignments),
		pq.Array(versions),
		pq.Array(admitted),
		pq.Array(refused),
		pq.Array(minutes),
		pq.Array(inMinute),
		pq.Array(inPrevious),
		pq.Array(used),
		pq.Array(micros),
	)
	return err
}

// TellRefusals implements usage.Store.
func (d Usage) TellRefusals(ctx context.Context, refusals []usage.Refusal) (err error) {
	defer pgconn.Wrap(&err, "tell refusals")
	n := len(refusals)
	tenants, windows, limits, resets := make([]int64, n), make([]string, n), make([]int64, n), make([]int64, n)
	for i, r := range refusals {
		tenants[i], windows[i], limits[i], resets[i] = r.TenantID, r.Window, r.Limit, r.Reset
	}
	_, err = d.db.Exec(ctx, `select tell_refusals($1, $2, $3, $4)`,
		pq.Array(tenants), pq.Array(windows), pq.Array(limits), pq.Array(resets))
	return err
}

// EndUsage implements usage.Store.
func (d Usage) EndUsage(ctx context.Context, serverID string) (err error) {
	defer pgconn.Wrap(&err, "end usage")
	_, err = d.db.Exec(ctx, `select end_usage($1)`, serverID)
	return err
}

// AdmittedOn returns the recorded number of each tenant's admitted requests on a UTC day, which is
// counted from 1 January 1970. Tenants without any are left out.
func (d Usage) AdmittedOn(ctx context.Context, day int64) (_ map[int64]int64, err error) {
	defer pgconn.Wrap(&err, "sum the day's usage")
	from := time.Unix(0, 0).UTC().AddDate(0, 0, int(day))
	return pgconn.CollectMap[int64, int64](ctx, d.db, `
		select tenant_id as key, sum(admitted)::bigint as value from usage_hourly
		where hour >= $1 and hour < $2
		group by tenant_id having sum(admitted) > 0`, from, from.AddDate(0, 0, 1))
}

// AdmittedInMonth returns the running total of each tenant's requests that count in a UTC month, by
// its number from January 1970 on.
func (d Usage) AdmittedInMonth(ctx context.Context, month int64) (_ map[int64]int64, err error) {
	defer pgconn.Wrap(&err, "read the months' totals")
	return pgconn.CollectMap[int64, int64](ctx, d.db, `
		select tenant_id as key, admitted as value from tenant_months where month = $1`,
		time.Unix(0, 0).UTC().AddDate(0, int(month), 0))
}

// WrongMonths returns how many tenants' running totals of a UTC month, the present one if it is zero,
// differ from what is recorded, and one of them.
func (d Usage) WrongMonths(ctx context.Context, month time.Time) (wrong int64, tenant string, err error) {
	defer pgconn.Wrap(&err, "compare the months' totals")
	var row struct {
		Wrong  int64
		Tenant string
	}
	err = d.db.Get(ctx, &row, `
		with present as (select date_trunc('month', coalesce($1, now()) at time zone 'UTC') as month),
		recorded as (
		  select u.tenant_id, sum(u.admitted) as admitted
		  from present p join usage_in_time u on u.hour >= p.month at time zone 'UTC'
		    and u.hour < (p.month + interval '1 month') at time zone 'UTC'
		  join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
		  join plan_versions v on v.plan = a.plan and v.version = u.version
		  where coalesce(a.month, v.month) = 'some' group by u.tenant_id
		), totals as (
		  select m.tenant_id, m.admitted from present p join tenant_months m on m.month = p.month::date
		)
		select count(*) as wrong, coalesce(min(t.name), '') as tenant
		from recorded r full join totals m using (tenant_id) join tenants t on t.id = tenant_id
		where coalesce(r.admitted, 0) <> coalesce(m.admitted, 0)`,
		sql.NullTime{Time: month, Valid: !month.IsZero()})
	return row.Wrong, row.Tenant, err
}

// KeysSince returns the recorded number of each of these keys' requests since an hour began. Keys
// without any are left out.
func (d Usage) KeysSince(ctx context.Context, ids []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select u.key_id as key, sum(u.admitted + u.refused)::bigint as value from usage_hourly u
		where u.tenant_id in (select k.tenant_id from api_keys k where k.id = any($1)) and u.key_id = any($1) and
			u.hour >= $2
		group by u.key_id`, ids, since)
}

// TenantsSince returns the recorded number of each of these tenants' requests since an hour began.
// Tenants without any are left out.
func (d Usage) TenantsSince(ctx context.Context, names []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select t.name as key, sum(u.admitted + u.refused)::bigint as value from usage_hourly u join tenants t on t.id
			= u.tenant_id
		where t.name = any($1) and u.hour >= $2
		group by t.name`, names, since)
}

func (d Usage) sums(
	ctx context.Context,
	query string,
	names []string,
	since time.Time,
) (_ map[string]int64, err error) {
	defer pgconn.Wrap(&err, "sum recent usage")
	return pgconn.CollectMap[string, int64](ctx, d.db, query, pq.Array(names), since)
}

// KeyUsage has the admitted and refused requests of one key, and of all keys of its tenant.
type KeyUsage struct {
	Admitted       int64 `db:"admitted"`
	Refused        int64 `db:"refused"`
	TenantAdmitted int64 `db:"tenant_admitted"`
	TenantRefused  int64 `db:"tenant_refused"`
}

// OfKey sums the recorded usage between two whole hours, the second not included. Servers record
// within about a second.
func (d Usage) OfKey(ctx context.Context, tenantID int64, keyID string, from, to time.Time) (_ KeyUsage, err error) {
	defer pgconn.Wrap(&err, "sum a key's usage")
	var u KeyUsage
	err = d.db.Get(ctx, &u, `
		select coalesce(sum(admitted) filter (where key_id = $2), 0)::bigint as admitted,
		       coalesce(sum(refused) filter (where key_id = $2), 0)::bigint as refused,
		       coalesce(sum(admitted), 0)::bigint as tenant_admitted,
		       coalesce(sum(refused), 0)::bigint as tenant_refused
		from usage_hourly where tenant_id = $1 and hour >= $3 and hour < $4`, tenantID, keyID, from, to)
	return u, err
}

// OfKeys sums as OfKey does, for each key of the tenant with usage in that time.
func (d Usage) OfKeys(ctx context.Context, tenantID int64, from, to time.Time) (map[string]KeyUsage, error) {
	var rows []struct {
		KeyID string `db:"key_id"`
		KeyUsage
	}
	err := d.db.Select(ctx, &rows, `
		select key_id, sum(admitted)::bigint as admitted, sum(refused)::bigint as refused,
		       sum(sum(admitted)) over ()::bigint as tenant_admitted, sum(sum(refused)) over ()::bigint as
		           tenant_refused
		from usage_hourly where tenant_id = $1 and hour >= $2 and hour < $3 group by key_id`, tenantID, from, to)
	if err != nil {
		return nil, fmt.Errorf("sum the usage of a tenant's keys: %w", err)
	}
	sums := map[string]KeyUsage{}
	for _, row := range rows {
		sums[row.KeyID] = row.KeyUsage
	}
	return sums, nil
}

var _ usage.MonthStore = Usage{}

// usageMonthQuery sums a tenant's usage ($1) by UTC day since $2, and its admitted requests since
// $3 and since $4, with the hour of the first of those. It reads only the tenant's rows, in the order
// of the primary key. The periods of the month follow, which begins at $5 and ends at $6, up to $7.
const usageMonthQuery = `
select date_trunc('day', hour, 'UTC') as date, sum(admitted)::bigint as admitted, sum(refused)::bigint as refused,
       coalesce(sum(admitted) filter (where hour >= $3), 0)::bigint as rate_window,
       coalesce(sum(admitted) filter (where hour >= $4), 0)::bigint as week,
       min(hour) filter (where hour >= $4) as since,
       null::bigint as per_month, null::text as overage, null::bigint as overage_value, 0 as period
from usage_hourly
where tenant_id = $1 and hour >= $2
group by 1
union all
select null, p.admitted, 0, 0, 0, null, p.per_month, p.overage, p.overage_value, p.period
from month_periods($1, $5, $6, $7) with ordinality p (per_month, overage, overage_value, admitted, period)
order by period`

// UsageMonth implements usage.MonthStore.
func (d Usage) UsageMonth(ctx context.Context, tenantID int64, now time.Time) (usage.Month, error) {
	var rows []struct {
		Date       sql.NullTime `db:"date"`
		Refused    int64        `db:"refused"`
		RateWindow int64        `db:"rate_window"`
		Week       int64        `db:"week"`
		Since      sql.NullTime `db:"since"`
		Period     int64        `db:"period"`
		periodRow
	}
	m, week, month := usage.NewMonth(now), usage.WeekBefore(now), usage.MonthStart(now)
	from := month
	if week.Before(from) {
		from = week
	}
	err := d.db.Select(ctx, &rows, usageMonthQuery, tenantID, from, usage.RateWindowStart(now), week, month,
		month.AddDate(0, 1, 0), now)
	if err != nil {
		return usage.Month{}, fmt.Errorf("read the month's usage: %w", err)
	}
	for _, r := range rows {
		if r.Period > 0 {
			m.Periods = append(m.Periods, r.use())
			continue
		}
		m.Add(r.Date.Time, r.Admitted, r.Refused)
		m.RateWindow += r.RateWindow
		m.Week += r.Week
		if r.Since.Valid && (m.WeekStart.IsZero() || r.Since.Time.Before(m.WeekStart)) {
			m.WeekStart = r.Since.Time.UTC()
		}
	}
	return m, nil
}

// UsageReport implements usage.MonthStore.
func (d Usage) UsageReport(ctx context.Context, tenantID int64, month, now time.Time) (usage.Report, error) {
	var rows []struct {
		Starts   time.Time `db:"starts"`
		Corrects bool      `db:"corrects"`
		KeyID    string    `db:"key_id"`
		KeyName  string    `db:"key_name"`
		Admitted int64     `db:"admitted"`
		Refused  int64     `db:"refused"`
	}
	err := d.db.Select(
		ctx,
		&rows,
		`select starts, corrects, key_id, key_name, admitted, refused from month_usage($1, $2, $3)`,
		tenantID,
		month,
		month.AddDate(0, 1, 0),
	)
	if err != nil {
		return usage.Report{}, fmt.Errorf("report the month's usage: %w", err)
	}
	report := usage.NewReport(month, now)
	for _, r := range rows {
		if r.Corrects {
			report.Correct(r.Starts.UTC(), r.Admitted, r.Refused)
		} else {
			report.AddKey(r.KeyID, r.KeyName, r.Starts, r.Admitted, r.Refused)
		}
	}
	report.Periods, err = d.MonthPeriods(ctx, tenantID, month, now)
	return report, err
}

// ByDayError is returned for hours that are already summed into days.
type ByDayError struct {
	// Until is the instant from which on hours are available.
	Until time.Time
}

// Error implements error.
func (e ByDayError) Error() string {
	return fmt.Sprintf("usage before %s is stored by day", e.Until.Format(time.DateOnly))
}

// hoursSince returns a ByDayError if hours after that instant are already summed into days.
func hoursSince(ctx context.Context, q pgconn.Queryer, from time.Time) error {
	until, err := byDayUntil(ctx, q)
	if err == nil && from.Before(until) {
		err = ByDayError{until}
	}
	return err
}

// byDayUntil returns the instant up to which hours are summed into days; zero if none are.
func byDayUntil(ctx context.Context, q pgconn.Queryer) (time.Time, error) {
	var until sql.NullTime
	err := q.Get(ctx, &until, `select by_day_until()`)
	return pgconn.TimeOf(until), err
}
