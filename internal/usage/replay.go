package usage

import (
	"time"

	"petstore.example/internal/plans"
)

// Hour is the number of a tenant's requests in one UTC hour, and how many of them were refused.
type Hour struct {
	At                time.Time
	Requests, Refused int64
	// Own is the least number of requests that the keys' own limits refuse, if known.
	Own int64
}

// RecordedDay is the number of a tenant's requests on a UTC day, and how many of them were refused.
type RecordedDay struct {
	Date              time.Time
	Requests, Refused int64
	// Busy has the hours with more than QuietHour requests, in ascending order. It may also have
	// others.
	Busy []Hour
}

// ReplayedDay is the result of replaying a UTC day's requests under other limits.
type ReplayedDay struct {
	Date time.Time
	// Requests is the number of all requests, Refused the number that were actually refused.
	Requests, Refused int64
	// ByMinute, ByDay and ByKeys are the least numbers that would have been refused: by the
	// per-minute limit, in addition by the per-day limit, and by the keys' own limits. Requests in
	// ByKeys do not reach the other limits.
	ByDay, ByMinute, ByKeys int64
	// Monthly is set if the limits have a month. ByMonth is the number that it would have refused in
	// addition, and Overage the most that would have been billed as overage.
	Monthly          bool
	ByMonth, Overage int64
}

// Least is the least number of requests that the tenant's limits would have refused.
func (d ReplayedDay) Least() int64 { return d.ByMinute + d.ByDay + d.ByMonth }

// More is the least number of additional requests that would have been refused.
func (d ReplayedDay) More() int64 { return max(0, d.Least()-d.Refused) }

// minutesInside is the number of a tenant's minute windows that certainly lie within an hour. One
// more overlaps each end.
const minutesInside = 59

// MinutesOfHour is the number of minute windows that overlap an hour.
const MinutesOfHour = minutesInside + 2

// QuietHour is the most requests in an hour, spread evenly, of which the per-minute limit refuses
// none, even if the windows at the ends of the hour stay unused.
func QuietHour(perMinute int64) int64 { return minutesInside * perMinute }

// Replayer replays the days of one tenant under other limits. The result is a lower bound: only the
// number of requests in an hour is known, so they are assumed to be spread as evenly as possible. A
// tenant's minute windows have their own offset, so one overlaps each full hour; the earlier hour
// uses what it needs of that window. Refused requests are replayed too, without the retries that
// they may have caused. A month begins unused with the first day of it.
type Replayer struct {
	plans.Quota

	// edgeRoom is how many more requests fit into the window that overlaps end, the end of the last
	// hour.
	end      time.Time
	edgeRoom int64
	// monthUsed is how many requests were admitted in the UTC month that begins at monthBegan.
	monthBegan time.Time
	monthUsed  int64
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
	replayed := ReplayedDay{
		Date:     d.Date,
		Requests: d.Requests,
		Refused:  d.Refused,
		ByDay:    over,
		ByMinute: d.Requests - passed,
	}
	if r.Month.Kind == plans.SomeMonth {
		replayed.Monthly = true
		replayed.ByMonth, replayed.Overage = r.addToMonth(d.Date, passed-over)
	}
	if r.end.Equal(d.Date.AddDate(0, 0, 1)) {
		// The limits refused the day's last requests, so they used nothing of the window
		// overlapping midnight.
		r.edgeRoom = min(r.PerMinute, r.edgeRoom+over+replayed.ByMonth)
	}
	return replayed
}

// addToMonth counts a day's requests, and returns how many the month refuses and how many of the
// others are overage.
func (r *Replayer) addToMonth(date time.Time, requests int64) (refused, overage int64) {
	if began := date.AddDate(0, 0, 1-date.Day()); !began.Equal(r.monthBegan) {
		r.monthBegan, r.monthUsed = began, 0
	}
	if limit, ok := r.Month.Cap(); ok {
		refused = requests - min(requests, max(0, limit-r.monthUsed))
	}
	parts := Overages([]PeriodUse{{r.Month, r.monthUsed}, {r.Month, requests - refused}})
	r.monthUsed += requests - refused
	return refused, parts[1]
}

// Replay replays hours in ascending order, with a result for each of their days.
func Replay(hours []Hour, limits plans.Quota) []ReplayedDay {
	r := Replayer{Quota: limits}
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
