package usage

import (
	"math"
	"slices"
	"time"

	"petstore.example/internal/plans"
)

// Forecast says when the daily quota runs out if requests go on at the present rate.
type Forecast struct {
	// PerHour is the present rate, rounded.
	PerHour int64
	// RunsOut is the second at which the daily quota is used up: now if it already is, zero if it
	// lasts until the day ends.
	RunsOut time.Time
}

// RateWindowStart returns the start of the time over which the present rate is measured: the start
// of the previous UTC hour. So the last one to two hours count. An average since midnight would
// underestimate a working day, and a shorter time would overestimate a burst.
func RateWindowStart(now time.Time) time.Time { return now.UTC().Truncate(time.Hour).Add(-time.Hour) }

// Predict returns the forecast for a day on which remaining requests are left. admitted is the
// number of requests admitted since RateWindowStart.
func Predict(admitted, remaining int64, now time.Time) Forecast {
	admitted = max(0, admitted) // Requests of an earlier hour may have been refunded.
	elapsed := now.Sub(RateWindowStart(now)).Seconds()
	f := Forecast{PerHour: int64(math.Round(float64(admitted) * 3600 / elapsed))}
	switch seconds := float64(remaining) * elapsed / float64(admitted); {
	case remaining <= 0:
		f.RunsOut = now.UTC().Truncate(time.Second)
	case seconds < midnight(now).AddDate(0, 0, 1).Sub(now).Seconds(): // Without requests the seconds are infinite.
		f.RunsOut = now.UTC().Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
	}
	return f
}

// MonthForecast says how the month ends if requests go on at the average rate of the last week.
type MonthForecast struct {
	// Admitted and Overage are what is billed for the whole month.
	Admitted, Overage int64
	// RunsOut is the second at which no further request is admitted: now if none is already, zero if
	// the month ends first or has no limit.
	RunsOut time.Time
}

// shortestWeek keeps the first hours of a new customer from being taken for all of a week.
const shortestWeek = 24 * time.Hour

// WeekBefore returns the beginning of the hours over which the rate of a month is measured.
func WeekBefore(now time.Time) time.Time { return now.UTC().Truncate(time.Hour).AddDate(0, 0, -7) }

// Forecast returns the forecast of the current month for a tenant whose quota in force has that
// month. remaining is how many requests its limit still admits.
func (m Month) Forecast(of plans.Month, remaining int64, now time.Time) MonthForecast {
	var f MonthForecast
	left := MonthStart(now).AddDate(0, 1, 0).Sub(now).Seconds()
	perSecond := float64(max(0, m.Week)) / max(shortestWeek, now.Sub(m.WeekStart)).Seconds()
	more := int64(math.Round(perSecond * left))
	if _, limited := of.Cap(); limited && more >= remaining {
		more = max(0, remaining)
		if seconds := float64(more) / perSecond; more == 0 {
			f.RunsOut = now.UTC().Truncate(time.Second)
		} else if seconds < left {
			f.RunsOut = now.UTC().Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
		}
	}
	admitted, _ := m.Sum()
	f.Admitted = admitted + more
	m.Periods = append(slices.Clip(m.Periods), PeriodUse{Month: of, Admitted: more})
	f.Overage = m.Overage()
	return f
}
