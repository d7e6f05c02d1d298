package diagnose

import (
	"fmt"
	"math"
	"slices"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// LargerPlan is the least number of refusals that would remain under a plan.
type LargerPlan struct {
	Name   string
	Remain int64
	// Same is a window that refused some requests and whose limit the plan does not raise; empty
	// for none. Helps is true if the plan raises the limit of a window that refused some.
	Same  limits.WindowName
	Helps bool
}

// LargerPlans returns how many requests of these hours were refused. For each plan that is larger
// than the tenant's quota, it returns the least number that would still be refused. A plan does not
// help if its limit is the same as the one that refused. refusedBy is the refusing window. If it is
// empty, each window that can have refused a request of these hours is taken as refusing.
func LargerPlans(
	hours []usage.Hour,
	t *plans.Tenant,
	sold []plans.Plan,
	refusedBy limits.WindowName,
) (refused int64, list []LargerPlan) {
	q := t.Quota
	refused, _ = usage.Refusals(hours, q)
	refusedIn := map[limits.WindowName]bool{refusedBy: true}
	if refusedBy == "" {
		refusedIn = refusing(hours, q)
	}
	boostedMinute, boostedDay, boostedMonth := t.Boosted()
	boosted := boostedMinute || boostedDay || boostedMonth
	for _, p := range sold {
		if p.Quota == nil || *p.Quota == q || p.Name == t.Plan && boosted {
			continue
		}
		larger := LargerPlan{Name: p.Name}
		for _, w := range shared {
			is, was := limitOf(*p.Quota, w), limitOf(q, w)
			larger.Helps = larger.Helps || refusedIn[w] && is > was
			if refusedIn[w] && is <= was {
				larger.Same = w
			}
		}
		if isSmaller(*p.Quota, q) || larger.Same == "" && !larger.Helps {
			continue
		}
		_, larger.Remain = usage.Refusals(hours, *p.Quota)
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

// shared are the windows that the keys of a tenant share.
var shared = []limits.WindowName{limits.Minute, limits.Day, limits.Month}

func isSmaller(is, was plans.Quota) bool {
	return slices.ContainsFunc(shared, func(w limits.WindowName) bool { return limitOf(is, w) < limitOf(was, w) })
}

// HasMore reports whether a quota has more of a window than another one. Many small plans have no
// month: they have more of it only if they have no less of the others.
func HasMore(is, was plans.Quota, w limits.WindowName) bool {
	return limitOf(is, w) > limitOf(was, w) && (w != limits.Month || !isSmaller(is, was))
}

// limitOf returns the limit of a window that the keys of a tenant share: by default the minute. Without
// a limit per month it is higher than any.
func limitOf(q plans.Quota, w limits.WindowName) int64 {
	switch w {
	case limits.Day:
		return q.PerDay
	case limits.Month:
		if limit, ok := q.Month.Cap(); ok {
			return limit
		}
		return math.MaxInt64
	}
	return q.PerMinute
}

// refusing returns which of the minute, the day and the month of a quota can have refused a request
// of these hours. Any other refusal came from a key's own limit or a ban, which no plan changes. A
// minute window may begin in the hour before the refusal, so that hour's use counts too.
func refusing(hours []usage.Hour, q plans.Quota) map[limits.WindowName]bool {
	perHour, perDay, perMonth := map[int64]int64{}, map[int64]int64{}, map[int64]int64{}
	for _, h := range hours {
		admitted := h.Requests - h.Refused
		perHour[h.At.Unix()] = admitted
		perDay[limits.DayAt(h.At)] += admitted
		perMonth[limits.MonthAt(h.At)] += admitted
	}
	refused := map[limits.WindowName]bool{}
	for _, h := range hours {
		if h.Refused == 0 {
			continue
		}
		at := h.At.Unix()
		for w, used := range map[limits.WindowName]int64{
			limits.Minute: perHour[at] + perHour[at-3600], limits.Day: perDay[limits.DayAt(h.At)],
			limits.Month: perMonth[limits.MonthAt(h.At)],
		} {
			refused[w] = refused[w] || used >= limitOf(q, w)
		}
	}
	return refused
}
