package usage

import (
	"context"
	"time"
)

// Day is what a tenant's requests came to on one UTC day.
type Day struct {
	// Date is the day's first instant.
	Date              time.Time
	Admitted, Refused int64
}

// Month is what a tenant used in the current UTC month, as far as it is recorded.
type Month struct {
	// Days has each day from the first of the month up to today, also those without requests.
	Days []Day
	// RateWindow is how many requests were admitted since RateWindowStart.
	RateWindow int64
}

// MonthStore reads what was recorded.
type MonthStore interface {
	// UsageMonth returns the month of now, of that tenant alone. It returns ErrUnavailable when the store is.
	UsageMonth(ctx context.Context, tenantID int64, now time.Time) (Month, error)
}

// NewMonth returns the month of now with all its days up to today, and nothing used on any of them.
func NewMonth(now time.Time) Month {
	today := midnight(now)
	m := Month{Days: make([]Day, today.Day())}
	for i := range m.Days {
		m.Days[i].Date = today.AddDate(0, 0, i+1-len(m.Days))
	}
	return m
}

// Add adds to the day that begins at date. What is not of the month's days is left out.
func (m *Month) Add(date time.Time, admitted, refused int64) {
	i := date.UTC().Day() - 1
	if i >= len(m.Days) || !m.Days[i].Date.Equal(date) {
		return
	}
	m.Days[i].Admitted += admitted
	m.Days[i].Refused += refused
}

// Sum returns what was admitted and refused on all days together.
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
