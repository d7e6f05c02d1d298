package diagnose

import (
	"fmt"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// LargerPlan is how many refusals would remain under a plan, at least.
type LargerPlan struct {
	Name   string
	Remain int64
	// Same is the window that refused some of them, and whose limit the plan does not raise; empty
	// for none. If it does not Help, it raises none that refused.
	Same  limits.WindowName
	Helps bool
}

// LargerPlans returns how many requests of these hours were refused, and how many would be, at
// least, under each of these plans that is larger than what binds the tenant. A plan whose limit is
// the same as the one that refused does not help. refusedBy is that window, empty if it is not
// known: then it is any that can have refused one of the hours' requests.
func LargerPlans(
	hours []usage.Hour,
	t *plans.Tenant,
	sold []plans.Plan,
	refusedBy limits.WindowName,
) (refused int64, list []LargerPlan) {
	q := t.Quota
	refused, _ = usage.Refusals(hours, q.PerMinute, q.PerDay)
	minute, day := refusedBy == limits.Minute, refusedBy == limits.Day
	if refusedBy == "" {
		minute, day = refusing(hours, q)
	}
	boostedMinute, boostedDay := t.Boosted()
	for _, p := range sold {
		if p.Quota == nil || *p.Quota == q || p.Quota.PerMinute < q.PerMinute || p.Quota.PerDay < q.PerDay ||
			p.Name == t.Plan && (boostedMinute || boostedDay) || !minute && !day {
			continue
		}
		larger := LargerPlan{Name: p.Name}
		_, larger.Remain = usage.Refusals(hours, p.Quota.PerMinute, p.Quota.PerDay)
		moreMinute, moreDay := p.Quota.PerMinute > q.PerMinute, p.Quota.PerDay > q.PerDay
		larger.Helps = minute && moreMinute || day && moreDay
		if day && !moreDay {
			larger.Same = limits.Day
		} else if minute && !moreMinute {
			larger.Same = limits.Minute
		}
		list = append(list, larger)
	}
	return refused, list
}

// SameLimits says which of the plans do not help, "" for none.
func SameLimits(list []LargerPlan) (text string) {
	for _, p := range list {
		if !p.Helps {
			text += fmt.Sprintf(" Plan %s has the same limit per %s.", p.Name, p.Same)
		}
	}
	return text
}

// refusing returns whether the minute and the day of a quota can have refused a request of these
// hours. Whatever else was refused, a key's own limit or a ban has refused, which no plan changes.
// A minute that is used up has begun in the same hour or in the one before.
func refusing(hours []usage.Hour, q plans.Quota) (minute, day bool) {
	const oneDay = 24 * time.Hour
	perHour, perDay := map[int64]int64{}, map[time.Time]int64{}
	for _, h := range hours {
		perHour[h.At.Unix()] = h.Requests - h.Refused
		perDay[h.At.Truncate(oneDay)] += h.Requests - h.Refused
	}
	for _, h := range hours {
		at := h.At.Unix()
		minute = minute || h.Refused > 0 && perHour[at]+perHour[at-3600] >= q.PerMinute
		day = day || h.Refused > 0 && perDay[h.At.Truncate(oneDay)] >= q.PerDay
	}
	return minute, day
}
