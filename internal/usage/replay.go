package usage

import "time"

// Hour is what a tenant asked for in one UTC hour, and how much of it was refused.
type Hour struct {
	At                time.Time
	Requests, Refused int64
}

// ReplayedDay is what would have become of a UTC day's requests under other limits.
type ReplayedDay struct {
	Date time.Time
	// Requests were asked for, and Refused of them refused as it was.
	Requests, Refused int64
	// ByDay and ByMinute would have been refused: together at least so many.
	ByDay, ByMinute int64
}

// minutesInside is how many whole minutes, as a tenant's windows count them, lie within an hour for certain; one more
// reaches into it at each end.
const minutesInside = 59

// Replay says how many requests would have been refused under those limits, of hours in order of time. Only the number of an
// hour's requests is known, not when in it they came, so it is a lower bound: they are taken to have come as evenly as they
// can. Minutes are counted from an instant of each tenant's own, so that one lies across each full hour; it is given to
// the hour before as far as that needs it. Requests that were refused are replayed too, as if each had come just so.
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
