package usage

import (
	"context"
	"time"

	"petstore.example/internal/plans"
)

// Day is a tenant's usage on one UTC day.
type Day struct {
	// Date is the day's first instant.
	Date              time.Time
	Admitted, Refused int64
}

// Month is a tenant's recorded usage in a UTC month, by default the current one.
type Month struct {
	// Days has every day from the first of the month up to today.
	Days []Day
	// RateWindow is the number of requests admitted since RateWindowStart, and Week since WeekStart.
	// They are of the current month only.
	RateWindow, Week int64
	// WeekStart is seven days ago, or later the hour of the first request since then; zero without
	// one.
	WeekStart time.Time
	// Periods are those of the month that have begun, in the order of Overages.
	Periods []PeriodUse
}

// Included returns the included number of the last period, which is in force or ended with the
// month; ok is false if that has none.
func (m Month) Included() (included int64, ok bool) {
	if len(m.Periods) == 0 {
		return 0, false
	}
	last := m.Periods[len(m.Periods)-1].Month
	return last.Included, last.Kind == plans.SomeMonth
}

// Counted returns how many requests were recorded in periods with a month.
func (m Month) Counted() (sum int64) {
	for _, p := range m.Periods {
		if p.Month.Kind == plans.SomeMonth {
			sum += p.Admitted
		}
	}
	return sum
}

// Overage returns how many requests of the month are billed above the included ones.
func (m Month) Overage() (sum int64) {
	for _, n := range Overages(m.Periods) {
		sum += n
	}
	return sum
}

// MonthStore reads recorded usage.
type MonthStore interface {
	// UsageMonth returns the tenant's month at now. It returns ErrUnavailable if the store is down.
	UsageMonth(ctx context.Context, tenantID int64, now time.Time) (Month, error)
	// UsageReport returns the tenant's report of the month that begins at month. It returns
	// ErrUnavailable if the store is down.
	UsageReport(ctx context.Context, tenantID int64, month, now time.Time) (Report, error)
}

// NewMonth returns the month at now, with all its days up to today and without usage.
func NewMonth(now time.Time) Month {
	today := midnight(now)
	m := Month{Days: make([]Day, today.Day())}
	for i := range m.Days {
		m.Days[i].Date = today.AddDate(0, 0, i+1-len(m.Days))
	}
	return m
}

// Add adds to the day that begins at date. It ignores days outside of the month.
func (m *Month) Add(date time.Time, admitted, refused int64) {
	i := date.UTC().Day() - 1
	if i >= len(m.Days) || !m.Days[i].Date.Equal(date) {
		return
	}
	m.Days[i].Admitted += admitted
	m.Days[i].Refused += refused
}

// Sum returns the totals of all days.
func (m Month) Sum() (admitted, refused int64) {
	for _, d := range m.Days {
		admitted += d.Admitted
		refused += d.Refused
	}
	return admitted, refused
}

// MonthStart returns the first instant of the UTC month.
func MonthStart(now time.Time) time.Time {
	now = now.UTC()
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func midnight(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
