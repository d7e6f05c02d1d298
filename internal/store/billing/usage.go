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

// Usage stores how many requests were admitted and refused, by hour.
type Usage struct{ db *pgconn.DB }

var _ usage.Store = Usage{}

// WriteUsage implements usage.Store. The API may only add to what is recorded, as the function does
// it. When a reply is lost, the batch's number shows that it was added.
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

// EndUsage implements usage.Store.
func (d Usage) EndUsage(ctx context.Context, serverID string) (err error) {
	defer pgconn.Wrap(&err, "end usage")
	_, err = d.db.Exec(ctx, `select end_usage($1)`, serverID)
	return err
}

// AdmittedOn returns how many requests of each tenant are recorded as admitted on a UTC day,
// counted from 1 January 1970. Tenants without any are left out.
func (d Usage) AdmittedOn(ctx context.Context, day int64) (_ map[int64]int64, err error) {
	defer pgconn.Wrap(&err, "sum the day's usage")
	from := time.Unix(0, 0).UTC().AddDate(0, 0, int(day))
	return pgconn.CollectMap[int64, int64](ctx, d.db, `
		select tenant_id as key, sum(admitted)::bigint as value from usage_hourly
		where hour >= $1 and hour < $2
		group by tenant_id having sum(admitted) > 0`, from, from.AddDate(0, 0, 1))
}

// KeysSince returns how many requests of each of these keys are recorded since an hour began. Keys
// without any are left out.
func (d Usage) KeysSince(ctx context.Context, ids []string, since time.Time) (map[string]int64, error) {
	return d.sums(ctx, `
		select u.key_id as key, sum(u.admitted + u.refused)::bigint as value from usage_hourly u
		where u.tenant_id in (select k.tenant_id from api_keys k where k.id = any($1)) and u.key_id = any($1) and
			u.hour >= $2
		group by u.key_id`, ids, since)
}

// TenantsSince returns how many requests of each of these tenants are recorded since an hour began.
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

// KeyUsage is what was admitted and refused of one key, and of all keys of its tenant.
type KeyUsage struct {
	Admitted       int64 `db:"admitted"`
	Refused        int64 `db:"refused"`
	TenantAdmitted int64 `db:"tenant_admitted"`
	TenantRefused  int64 `db:"tenant_refused"`
}

// OfKey sums the recorded usage from from up to, but not including, to, both whole hours. Servers
// record within about a second.
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

// usageMonthQuery sums a tenant's usage ($1) by UTC day since $2, and what was admitted since $3.
// It reads only the tenant's rows, in the order of the primary key.
const usageMonthQuery = `
select date_trunc('day', hour, 'UTC') as date, sum(admitted)::bigint as admitted, sum(refused)::bigint as refused,
       coalesce(sum(admitted) filter (where hour >= $3), 0)::bigint as rate_window
from usage_hourly
where tenant_id = $1 and hour >= $2
group by 1`

// UsageMonth implements usage.MonthStore.
func (d Usage) UsageMonth(ctx context.Context, tenantID int64, now time.Time) (usage.Month, error) {
	var rows []struct {
		Date       time.Time `db:"date"`
		Admitted   int64     `db:"admitted"`
		Refused    int64     `db:"refused"`
		RateWindow int64     `db:"rate_window"`
	}
	m, recent := usage.NewMonth(now), usage.RateWindowStart(now)
	from := m.Days[0].Date
	if recent.Before(from) {
		from = recent
	}
	if err := d.db.Select(ctx, &rows, usageMonthQuery, tenantID, from, recent); err != nil {
		return usage.Month{}, fmt.Errorf("read the month's usage: %w", err)
	}
	for _, r := range rows {
		m.Add(r.Date, r.Admitted, r.Refused)
		m.RateWindow += r.RateWindow
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
	return report, nil
}

// ByDayError is returned for hours that are summed into days.
type ByDayError struct {
	// Until is the first instant from which there are hours.
	Until time.Time
}

// Error implements error.
func (e ByDayError) Error() string {
	return fmt.Sprintf("usage before %s is stored by day", e.Until.Format(time.DateOnly))
}

// hoursSince returns a ByDayError if the hours after that instant are summed into days.
func hoursSince(ctx context.Context, q pgconn.Queryer, from time.Time) error {
	until, err := byDayUntil(ctx, q)
	if err == nil && from.Before(until) {
		err = ByDayError{until}
	}
	return err
}

// byDayUntil returns up to when hours are summed into days; zero if none are.
func byDayUntil(ctx context.Context, q pgconn.Queryer) (time.Time, error) {
	var until sql.NullTime
	err := q.Get(ctx, &until, `select by_day_until()`)
	return pgconn.TimeOf(until), err
}
