package usage

import (
	"math"
	"time"
)

// Forecast says when the daily quota runs out if requests go on at the present rate.
type Forecast struct {
	// PerHour is the present rate, rounded.
	PerHour int64
	// RunsOut is the second at which nothing remains of the day: now if nothing remains already,
	// the zero time if the quota lasts until the day ends.
	RunsOut time.Time
}

// RateWindowStart returns the start of the time over which the present rate is measured: the start
// of the previous UTC hour. The last one to two hours count, because an average since midnight
// would underestimate a working day, and a shorter time would overestimate a burst.
func RateWindowStart(now time.Time) time.Time { return now.UTC().Truncate(time.Hour).Add(-time.Hour) }

// Predict returns the forecast for a day on which that many requests remain, if admitted were
// admitted since RateWindowStart.
func Predict(admitted, remaining int64, now time.Time) Forecast {
	admitted = max(0, admitted) // Requests of an earlier hour may have been refunded.
	elapsed := now.Sub(RateWindowStart(now)).Seconds()
	f := Forecast{PerHour: int64(math.Round(float64(admitted) * 3600 / elapsed))}
	switch seconds := float64(remaining) * elapsed / float64(admitted); {
	case remaining <= 0:
		f.RunsOut = now.UTC().Truncate(time.Second)
	case seconds < midnight(now).AddDate(0, 0, 1).Sub(now).Seconds(): // Infinite without requests.
		f.RunsOut = now.UTC().Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
	}
	return f
}
