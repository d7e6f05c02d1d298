package usage

import (
	"math"
	"time"
)

// Forecast is what becomes of the day if requests go on at the present rate.
type Forecast struct {
	// PerHour is the present rate, rounded.
	PerHour int64
	// RunsOut is the whole second at which nothing remains of the day: now when nothing does already, the zero time when some
	// will remain until the day ends.
	RunsOut time.Time
}

// RateWindowStart is where the time begins over which the present rate is measured: with the UTC hour before the one that now is in.
// So it is always one to two hours long, also just after midnight. It is short enough to show what a tenant does now, where a
// mean since midnight would foretell a working day by the night before it, and long enough that a minute's burst does
// not count for much.
func RateWindowStart(now time.Time) time.Time { return now.UTC().Truncate(time.Hour).Add(-time.Hour) }

// Predict returns the forecast for a day of which remaining requests remain, when admitted were admitted since RateWindowStart.
func Predict(admitted, remaining int64, now time.Time) Forecast {
	admitted = max(0, admitted) // Requests of an hour before may have been given back.
	elapsed := now.Sub(RateWindowStart(now)).Seconds()
	f := Forecast{PerHour: int64(math.Round(float64(admitted) * 3600 / elapsed))}
	switch end := midnight(now).AddDate(0, 0, 1); {
	case remaining <= 0:
		f.RunsOut = now.UTC().Truncate(time.Second)
	case admitted > 0:
		seconds := float64(remaining) * elapsed / float64(admitted)
		if seconds < end.Sub(now).Seconds() {
			f.RunsOut = now.UTC().Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
		}
	}
	return f
}
