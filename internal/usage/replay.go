package usage

import "time"

// Hour is the number of a tenant's requests in one UTC hour, and how many of them were refused.
type Hour struct {
	At                time.Time
	Requests, Refused int64
}

// ReplayedDay is the result of replaying a UTC day's requests under other limits.
type ReplayedDay struct {
	Date time.Time
	// Requests is the number of all requests, Refused of those that were refused in fact.
	Requests, Refused int64
	// ByDay and ByMinute are how many the limits would have refused, at least.
	ByDay, ByMinute int64
}

// minutesInside is how many of a tenant's minute windows lie within an hour for certain. One more overlaps
// each end.
const minutesInside = 59

// Replay returns how many requests would have been refused under those limits, for hours in ascending order.
// The result is a lower bound: only the number of requests in an hour is known, so they are assumed to be
// spread as evenly as possible. A tenant's minute windows have an offset of their own, so one overlaps each
// full hour; the earlier hour uses of it what it needs. Requests that were refused are replayed too, without
// the retries they may have caused.
func Replay(hours []Hour, perMinute, perDay int64) []ReplayedDay {
	var days []ReplayedDay
	var day *ReplayedDay
	var end time.Time
	var dayRoom, edgeRoom int64
	for _, h := range hours {
		if day == nil || !midnight(h.At).Equal(day.Date) {
			days = append(days, ReplayedDay{Date: midnight(h.At)})
			day, dayRoom = &days[len(days)-1], perDay
		}
		if !h.At.Equal(end) {
			edgeRoom = perMinute
		}
		end = h.At.Add(time.Hour)
		day.Requests += h.Requests
		day.Refused += h.Refused

		inside := edgeRoom + minutesInside*perMinute
		passed := min(h.Requests, inside+perMinute)
		day.ByMinute += h.Requests - passed
		day.ByDay += passed - min(passed, dayRoom)
		passed = min(passed, dayRoom)
		dayRoom -= passed
		edgeRoom = perMinute - max(0, passed-inside)
	}
	return days
}
