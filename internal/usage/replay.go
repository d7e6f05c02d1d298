package usage

import "time"

// Hour is the number of a tenant's requests in one UTC hour, and how many of them were refused.
type Hour struct {
	At                time.Time
	Requests, Refused int64
	// Own is how many of the requests the own limits of their keys refuse, at least, if known.
	Own int64
}

// RecordedDay is the number of a tenant's requests on a UTC day, and how many of them were refused.
type RecordedDay struct {
	Date              time.Time
	Requests, Refused int64
	// Busy are the hours with more than QuietHour requests, in ascending order. It may hold others
	// too.
	Busy []Hour
}

// ReplayedDay is the result of replaying a UTC day's requests under other limits.
type ReplayedDay struct {
	Date time.Time
	// Requests is the number of all requests, Refused of those that were refused in fact.
	Requests, Refused int64
	// ByMinute is how many the per-minute limit would have refused, ByDay how many more the per-day
	// limit, and ByKeys how many the own limits of keys, of which the others do not hear: all at
	// least.
	ByDay, ByMinute, ByKeys int64
}

// More is how many requests more than in fact would have been refused, at least.
func (d ReplayedDay) More() int64 { return max(0, d.ByDay+d.ByMinute-d.Refused) }

// minutesInside is how many of a tenant's minute windows lie within an hour for certain. One more
// overlaps each end.
const minutesInside = 59

// MinutesOfHour is how many overlap it.
const MinutesOfHour = minutesInside + 2

// QuietHour is how many requests of an hour no per-minute limit refuses, if they are spread evenly,
// and leave the windows that overlap its ends unused.
func QuietHour(perMinute int64) int64 { return minutesInside * perMinute }

// Replayer replays the days of one tenant under other limits. The result is a lower bound: only the
// number of requests in an hour is known, so they are assumed to be spread as evenly as possible. A
// tenant's minute windows have an offset of their own, so one overlaps each full hour; the earlier
// hour uses of it what it needs. Requests that were refused are replayed too, without the retries
// they may have caused.
type Replayer struct {
	PerMinute, PerDay int64

	// edgeRoom is what the hour that ended at end left of the window that overlaps its end.
	end      time.Time
	edgeRoom int64
}

// Day replays a day. Days must be given in ascending order; quiet ones may be left out.
func (r *Replayer) Day(d RecordedDay) ReplayedDay {
	passed := d.Requests
	for _, h := range d.Busy {
		if !h.At.Equal(r.end) {
			r.edgeRoom = r.PerMinute
		}
		inside := r.edgeRoom + minutesInside*r.PerMinute
		admitted := min(h.Requests, inside+r.PerMinute)
		passed -= h.Requests - admitted
		r.end, r.edgeRoom = h.At.Add(time.Hour), r.PerMinute-max(0, admitted-inside)
	}
	over := max(0, passed-r.PerDay)
	if r.end.Equal(d.Date.AddDate(0, 0, 1)) {
		// The day's last requests were refused by its limit, and used nothing of the window that
		// overlaps midnight.
		r.edgeRoom = min(r.PerMinute, r.edgeRoom+over)
	}
	return ReplayedDay{
		Date:     d.Date,
		Requests: d.Requests,
		Refused:  d.Refused,
		ByDay:    over,
		ByMinute: d.Requests - passed,
	}
}

// Replay replays hours in ascending order, with a result for each day that has one of them.
func Replay(hours []Hour, perMinute, perDay int64) []ReplayedDay {
	r := Replayer{PerMinute: perMinute, PerDay: perDay}
	var days []ReplayedDay
	for i := 0; i < len(hours); {
		d, own := RecordedDay{Date: midnight(hours[i].At)}, int64(0)
		for ; i < len(hours) && midnight(hours[i].At).Equal(d.Date); i++ {
			h := hours[i]
			h.Requests -= h.Own
			d.Requests, d.Refused, own = d.Requests+h.Requests, d.Refused+h.Refused, own+h.Own
			d.Busy = append(d.Busy, h)
		}
		replayed := r.Day(d)
		replayed.Requests, replayed.ByKeys = d.Requests+own, own
		days = append(days, replayed)
	}
	return days
}
