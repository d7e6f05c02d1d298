package usage

import (
	"context"
	"time"
)

// Day is a tenant's usage on one UTC day.
type Day struct {
	// Date is the day's first instant.
	Date              time.Time
	Admitted, Refused int64
}

// Month is a tenant's recorded usage in the current UTC month.
type Month struct {
	// Days has every day from the first of the month up to today.
	Days []Day
	// RateWindow is how many requests were admitted since RateWindowStart.
	RateWindow int64
}

// MonthStore reads recorded usage.
type MonthStore interface {
	// UsageMonth returns the tenant's month of now. It returns ErrUnavailable if the store is down.
	UsageMonth(ctx context.Context, tenantID int64, now time.Time) (Month, error)
	// UsageReport returns the tenant's report of the month that begins at month. It returns
	// ErrUnavailable if the store is down.
	UsageReport(ctx context.Context, tenantID int64, month, now time.Time) (Report, error)
}

// NewMonth returns the month of now with all its days up to today and no usage.
func NewMonth(now time.Time) Month {
	today := midnight(now)
	m := Month{Days: make([]Day, today.Day())}
	for i := range m.Days {
		m.Days[i].Date = today.AddDate(0, 0, i+1-len(m.Days))
	}
	return m
}

// Add adds to the day that begins at date. It ignores other days than the month's.
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

func midnight(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
