package billing

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/usage"
)

var _ usage.MonthStore = Usage{}

// usageMonthQuery sums a tenant's usage ($1) by UTC day since $2, and what was admitted since $3. It reads only the tenant's
// rows, in the order of the primary key.
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
	err := d.db.Select(ctx, &rows, `select starts, corrects, key_id, key_name, admitted, refused from month_usage($1, $2, $3)`,
		tenantID, month, month.AddDate(0, 1, 0))
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
